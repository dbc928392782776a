//! Tables: lookups and changes. What makes and fills them is read when the model is loaded.

use super::{Cx, Entry, Val, made, made_many, one, tensors};
use crate::saved_model::tables;

pub(super) static OPS: &[Entry] = &[
    made("HashTable", |cx, _| tables::create(cx, "StaticHashTable")),
    made("HashTableV2", |cx, _| tables::create(cx, "StaticHashTable")),
    made("AnonymousHashTable", |cx, _| tables::create(cx, "StaticHashTable")),
    made("MutableHashTable", |cx, _| tables::create(cx, "MutableHashTable")),
    made("MutableHashTableV2", |cx, _| tables::create(cx, "MutableHashTable")),
    made("AnonymousMutableHashTable", |cx, _| tables::create(cx, "MutableHashTable")),
    made("MutableHashTableOfTensors", |cx, _| tables::create(cx, "MutableHashTable")),
    made("MutableHashTableOfTensorsV2", |cx, _| tables::create(cx, "MutableHashTable")),
    made("AnonymousMutableHashTableOfTensors", |cx, _| tables::create(cx, "MutableHashTable")),
    made("MutableDenseHashTable", |cx, _| tables::create(cx, "DenseHashTable")),
    made("MutableDenseHashTableV2", |cx, _| tables::create(cx, "DenseHashTable")),
    made("AnonymousMutableDenseHashTable", |cx, _| tables::create(cx, "DenseHashTable")),
    made("InitializeTable", |cx, _| tables::import(cx)),
    made("InitializeTableV2", |cx, _| tables::import(cx)),
    made("LookupTableImport", |cx, _| tables::import(cx)),
    made("LookupTableImportV2", |cx, _| tables::import(cx)),
    made("InitializeTableFromTextFile", |cx, _| tables::from_file(cx)),
    made("InitializeTableFromTextFileV2", |cx, _| tables::from_file(cx)),
    made("LookupTableFind", find),
    made("LookupTableFindV2", find),
    made("LookupTableSize", size),
    made("LookupTableSizeV2", size),
    made_many("LookupTableExport", &["keys", "values"], |cx, _| tensors(tables::export(cx)?)),
    made_many("LookupTableExportV2", &["keys", "values"], |cx, _| tensors(tables::export(cx)?)),
    made("LookupTableInsert", |cx, _| tables::insert(cx)),
    made("LookupTableInsertV2", |cx, _| tables::insert(cx)),
    made("LookupTableRemoveV2", |cx, _| {
        let ((_, ty), keys) = (cx.table(0)?, cx.tensor(1)?);
        tables::refuse_unused(cx, &ty, keys)?;
        tables::change(cx, "table_remove", &[keys])
    }),
];

/// Whether a node makes a table.
pub(in crate::saved_model) fn makes_table(op: &str) -> bool {
    op.contains("HashTable")
}

/// Whether a node fills one.
pub(in crate::saved_model) fn fills_table(op: &str) -> bool {
    op.starts_with("InitializeTable") || op.starts_with("LookupTableImport")
}

fn find(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> penstock_data::Result<Vec<Val>> {
    let ((table, ty), keys, default) = (cx.table(0)?, cx.tensor(1)?, cx.tensor(2)?);
    tables::refuse_unused(cx, &ty, keys)?;
    let held = cx.op("read_variable", &[table], &[])?;
    let each = cx.shape(default).rank().is_some_and(|rank| rank != ty.value_dims.len());
    let attrs = [("key_rank", (ty.key_dims.len() as i64).into()), ("each", each.into())];
    one(cx.op("table_find", &[held, keys, default], &attrs)?)
}

fn size(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> penstock_data::Result<Vec<Val>> {
    let (table, _) = cx.table(0)?;
    let held = cx.op("read_variable", &[table], &[])?;
    one(cx.op("table_size", &[held], &[])?)
}
