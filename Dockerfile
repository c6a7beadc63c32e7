# An image with nothing but the gateway: no shell, no package manager, not root.
#
#   docker build -t gancho .
#   docker run --read-only -v gancho:/var/lib/gancho -p 3000:3000 -p 9460:9460 gancho

FROM rust:1.95-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends cmake musl-tools && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN target=$(uname -m)-unknown-linux-musl \
    && rustup target add "$target" \
    && cargo build --locked --profile dist --target "$target" \
    && install -Ds "target/$target/dist/gancho" /image/usr/bin/gancho \
    && install -D /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
    && install -d -o 65532 -g 65532 -m 750 /image/var/lib/gancho

FROM scratch
COPY --from=build /image /
USER 65532:65532
ENV GANCHO_DATA_DIR=/var/lib/gancho \
    GANCHO_API_LISTEN=0.0.0.0:3000 \
    GANCHO_INGEST_LISTEN=0.0.0.0:9460
VOLUME /var/lib/gancho
EXPOSE 3000 9460
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/gancho"]
CMD ["serve"]
