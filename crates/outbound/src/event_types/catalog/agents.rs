//! Agents, voice, documents, retrieval and the system around them.

use super::Entry;

pub(super) const TYPES: [Entry; 18] = [
    (
        "agent.request.started",
        "A request to an agent started.",
        r#"{"request_id":"req_3c59dc04","agent":"fiscal","conversation_id":"conv_b6d767d2","model":"large","started_at":"2026-01-20T15:29:58.750Z"}"#,
    ),
    (
        "agent.request.completed",
        "A request to an agent was answered.",
        r#"{"request_id":"req_3c59dc04","agent":"fiscal","message":"The ICMS rate for this operation is 18 %.","tokens_input":150,"tokens_output":80,"duration_ms":1250}"#,
    ),
    (
        "agent.request.failed",
        "A request to an agent failed.",
        r#"{"request_id":"req_3c59dc04","agent":"fiscal","error":{"code":"model_timeout","message":"The model timed out"},"duration_ms":30000}"#,
    ),
    (
        "agent.tool.called",
        "An agent used a tool.",
        r#"{"request_id":"req_3c59dc04","agent":"fiscal","tool":"lookup_ncm","arguments":{"code":"8471.30.12"},"succeeded":true,"duration_ms":84}"#,
    ),
    (
        "voice.transcription.completed",
        "A recording was transcribed.",
        r#"{"transcription_id":"trs_37693cfc","language":"pt-BR","duration_seconds":42.7,"text":"Bom dia, gostaria de saber o status do meu pedido.","confidence":0.94}"#,
    ),
    (
        "voice.transcription.failed",
        "A recording could not be transcribed.",
        r#"{"transcription_id":"trs_37693cfc","error":{"code":"unsupported_codec","message":"The audio is not readable"}}"#,
    ),
    (
        "voice.synthesis.completed",
        "Speech was synthesized from text.",
        r#"{"synthesis_id":"syn_1ff1de77","voice":"camila","characters":182,"duration_seconds":11.2,"audio_url":"https://files.example.com/syn_1ff1de77.mp3"}"#,
    ),
    (
        "voice.synthesis.failed",
        "Speech could not be synthesized from text.",
        r#"{"synthesis_id":"syn_1ff1de77","voice":"camila","error":{"code":"text_too_long","message":"The text has more than 5,000 characters"}}"#,
    ),
    (
        "document.uploaded",
        "A document was uploaded.",
        r#"{"document_id":"doc_4e732ced","name":"contrato-2026.pdf","content_type":"application/pdf","size_bytes":284113,"uploaded_by":"usr_8f14e45f"}"#,
    ),
    (
        "document.processing",
        "A document is being processed.",
        r#"{"document_id":"doc_4e732ced","stage":"text_extraction","progress":0.35}"#,
    ),
    (
        "document.processed",
        "A document was processed and can be searched.",
        r#"{"document_id":"doc_4e732ced","pages":12,"chunks":48,"language":"pt-BR","duration_ms":5320}"#,
    ),
    (
        "document.failed",
        "A document could not be processed.",
        r#"{"document_id":"doc_4e732ced","stage":"text_extraction","error":{"code":"encrypted_pdf","message":"The document is protected by a password"}}"#,
    ),
    (
        "document.deleted",
        "A document was deleted.",
        r#"{"document_id":"doc_4e732ced","deleted_by":"usr_8f14e45f"}"#,
    ),
    (
        "rag.query.completed",
        "A question was answered from documents.",
        r#"{"query_id":"qry_02e74f10","query":"Qual o prazo de rescisão?","sources":[{"document_id":"doc_4e732ced","page":7,"score":0.87}],"tokens_input":2120,"tokens_output":64,"duration_ms":1480}"#,
    ),
    (
        "rag.index.updated",
        "The index of documents was updated.",
        r#"{"index":"contracts","documents_added":3,"documents_removed":1,"chunks_total":18230,"duration_ms":2210}"#,
    ),
    (
        "system.error",
        "A critical error in the system.",
        r#"{"component":"vector-store","severity":"critical","code":"replica_lost","message":"One of three replicas cannot be reached"}"#,
    ),
    (
        "system.alert",
        "A warning in the system.",
        r#"{"component":"queue","severity":"warning","metric":"oldest_message_seconds","value":640,"threshold":300}"#,
    ),
    (
        "system.maintenance",
        "Maintenance is planned.",
        r#"{"starts_at":"2026-02-01T03:00:00.000Z","ends_at":"2026-02-01T04:30:00.000Z","components":["voice"],"message":"Voice will be unavailable for up to 90 minutes"}"#,
    ),
];
