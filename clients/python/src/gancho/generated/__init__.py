"""Generated from docs/openapi.json by clients/generate. Do not edit."""
