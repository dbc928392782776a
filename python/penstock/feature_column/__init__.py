"""Columns of features: how values of examples become rows of numbers for a model."""

from penstock._runtime.public_names import publish as _publish
from penstock.feature_column._categorical import (
    categorical_column_with_hash_bucket as categorical_column_with_hash_bucket,
    categorical_column_with_identity as categorical_column_with_identity,
    categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list,
    crossed_column as crossed_column,
    weighted_categorical_column as weighted_categorical_column,
)
from penstock.feature_column._column import (
    FeatureTransformationCache as FeatureTransformationCache,
)
from penstock.feature_column._dense import (
    embedding_column as embedding_column,
    indicator_column as indicator_column,
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
    sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file,
    sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list,
    shared_embeddings as shared_embeddings,
)
from penstock.feature_column._layers import (
    DenseFeatures as DenseFeatures,
    SequenceFeatures as SequenceFeatures,
    make_parse_example_spec as make_parse_example_spec,
)
from penstock.feature_column._numeric import (
    bucketized_column as bucketized_column,
    numeric_column as numeric_column,
    sequence_numeric_column as sequence_numeric_column,
)

__all__ = [
    "DenseFeatures",
    "FeatureTransformationCache",
    "SequenceFeatures",
    "bucketized_column",
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "crossed_column",
    "embedding_column",
    "indicator_column",
    "make_parse_example_spec",
    "numeric_column",
    "sequence_categorical_column_with_hash_bucket",
    "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file",
    "sequence_categorical_column_with_vocabulary_list",
    "sequence_numeric_column",
    "shared_embeddings",
    "weighted_categorical_column",
]

_publish(__name__)
