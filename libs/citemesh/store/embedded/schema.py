"""The tables of the embedded store."""

from __future__ import annotations

SCHEMA_VERSION = 1

# Row ids are never used twice (AUTOINCREMENT): a derived index that lags behind must not take a new row for an old one.
STATEMENTS = """
CREATE TABLE IF NOT EXISTS facts (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tenants (
    tenant_id TEXT PRIMARY KEY,
    change_sequence INTEGER NOT NULL,
    permission_version INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tenant_languages (
    tenant_id TEXT NOT NULL,
    language TEXT NOT NULL,
    PRIMARY KEY (tenant_id, language)
) WITHOUT ROWID;

-- What the derived indexes follow: the last change of each version that was put, replaced or, lately, removed.
CREATE TABLE IF NOT EXISTS changes (
    change_sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id TEXT NOT NULL,
    version_row INTEGER
);
CREATE INDEX IF NOT EXISTS changes_by_tenant ON changes (tenant_id, change_sequence);
CREATE INDEX IF NOT EXISTS changes_by_version ON changes (tenant_id, version_row);

CREATE TABLE IF NOT EXISTS documents (
    document_row INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    everyone INTEGER NOT NULL,
    access BLOB NOT NULL,
    UNIQUE (tenant_id, document_id)
);

CREATE TABLE IF NOT EXISTS access_entries (
    document_row INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    reader TEXT NOT NULL,
    PRIMARY KEY (document_row, reader)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS versions (
    version_row INTEGER PRIMARY KEY AUTOINCREMENT,
    document_row INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    document_version INTEGER NOT NULL,
    from_us INTEGER NOT NULL,
    to_us INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    document BLOB NOT NULL,
    next_passage_number INTEGER NOT NULL,
    UNIQUE (document_row, document_version)
);

CREATE TABLE IF NOT EXISTS sections (
    section_row INTEGER PRIMARY KEY AUTOINCREMENT,
    version_row INTEGER NOT NULL REFERENCES versions ON DELETE CASCADE,
    position INTEGER NOT NULL,
    section_id TEXT NOT NULL,
    section BLOB NOT NULL,
    UNIQUE (version_row, position)
);

CREATE TABLE IF NOT EXISTS section_words (
    tenant_id TEXT NOT NULL,
    word TEXT NOT NULL,
    section_row INTEGER NOT NULL REFERENCES sections ON DELETE CASCADE,
    PRIMARY KEY (tenant_id, word, section_row)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS section_words_by_section ON section_words (section_row);

CREATE TABLE IF NOT EXISTS section_labels (
    tenant_id TEXT NOT NULL,
    label TEXT NOT NULL,
    section_row INTEGER NOT NULL REFERENCES sections ON DELETE CASCADE,
    PRIMARY KEY (tenant_id, label, section_row)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS section_labels_by_section ON section_labels (section_row);

CREATE TABLE IF NOT EXISTS passages (
    passage_row INTEGER PRIMARY KEY AUTOINCREMENT,
    version_row INTEGER NOT NULL REFERENCES versions ON DELETE CASCADE,
    tenant_id TEXT NOT NULL,
    passage_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    label TEXT NOT NULL,
    section_id TEXT NOT NULL,
    passage BLOB NOT NULL,
    UNIQUE (tenant_id, passage_id)
);
CREATE INDEX IF NOT EXISTS passages_by_place ON passages (version_row, ordinal);
CREATE INDEX IF NOT EXISTS passages_by_section ON passages (version_row, section_id);
CREATE INDEX IF NOT EXISTS passages_by_label ON passages (tenant_id, label) WHERE label <> '';

-- Apart from the passages, so that reading texts does not read vectors. `code` is the int8 form of `vector`.
CREATE TABLE IF NOT EXISTS vectors (
    passage_row INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE,
    vector BLOB NOT NULL,
    code BLOB NOT NULL
);
"""
