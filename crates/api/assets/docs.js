// Marks the current page, remembers the chosen language, and copies samples. All of it is extra: the pages work
// without it.
for (const link of document.querySelectorAll("nav a")) {
  if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
}

const KEY = "gancho-docs-language";

function choose(language) {
  for (const input of document.querySelectorAll(".tabs input")) {
    input.checked = input.value === language;
  }
}

const chosen = localStorage.getItem(KEY);
if (chosen && document.querySelector(`.tabs input[value="${CSS.escape(chosen)}"]`)) choose(chosen);

document.addEventListener("change", (event) => {
  if (!event.target.matches(".tabs input")) return;
  localStorage.setItem(KEY, event.target.value);
  const before = event.target.getBoundingClientRect().top;
  choose(event.target.value);
  // Samples above may have another length now.
  scrollBy(0, event.target.getBoundingClientRect().top - before);
});

for (const tabs of document.querySelectorAll(".tabs")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const language = tabs.querySelector("input:checked").value;
    await navigator.clipboard.writeText(tabs.querySelector(`pre.${language}`).textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  tabs.append(button);
}
