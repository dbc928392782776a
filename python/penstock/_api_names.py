"""The public names to cover, in three tiers; `penstock.api_report` counts which of them exist.

`TIERS` maps a tier to its namespaces, and a namespace (a dotted path below `penstock`, empty for the top
level) to its names. A name may be dotted itself when it stands for a member of a class.
"""

from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TIERS: Final[dict[int, dict[str, tuple[str, ...]]]] = {
    1: {
        "": _words("""
            Assert DType GradientTape Graph IndexedSlices Module Operation RegisterGradient Tensor
            TensorArray TensorArraySpec TensorShape TensorSpec TypeSpec UnconnectedGradients Variable abs
            acos acosh add add_n argmax argmin argsort as_dtype as_string asin asinh atan atan2 atanh
            autograph bfloat16 bitcast bool boolean_mask broadcast_dynamic_shape broadcast_static_shape
            broadcast_to case cast clip_by_global_norm clip_by_norm clip_by_value complex complex128
            complex64 concat cond constant constant_initializer control_dependencies convert_to_tensor cos
            cosh cumsum custom_gradient device divide double dynamic_partition dynamic_stitch einsum
            ensure_shape equal executing_eagerly exp expand_dims eye fill float16 float32 float64 floor
            foldl foldr function gather gather_nd get_static_value grad_pass_through gradients greater
            greater_equal group half hessians identity identity_n init_scope inside_function int16 int32
            int64 int8 is_symbolic_tensor is_tensor less less_equal linspace logical_and logical_not
            logical_or map_fn matmul maximum meshgrid minimum multiply name_scope negative newaxis
            no_gradient no_op norm not_equal numpy_function one_hot ones ones_initializer ones_like pad
            pow print py_function random_normal_initializer random_uniform_initializer range rank realdiv
            recompute_grad reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min
            reduce_prod reduce_sum register_tensor_conversion_function repeat reshape resource reverse
            roll round saturate_cast scan scatter_nd searchsorted sequence_mask shape shape_n sigmoid sign
            sin sinh size slice sort split sqrt square squeeze stack stop_gradient strided_slice string
            subtract switch_case tan tanh tensor_scatter_nd_add tensor_scatter_nd_max
            tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensordot tile timestamp
            transpose truediv truncatediv truncatemod tuple type_spec_from_value uint16 uint32 uint64
            uint8 unique unique_with_counts unstack variable_creator_scope variant vectorized_map where
            while_loop zeros zeros_initializer zeros_like
        """),
        "math": _words("""
            abs accumulate_n acos acosh add add_n angle argmax argmin asin asinh atan atan2 atanh bincount
            ceil confusion_matrix conj cos cosh count_nonzero cumprod cumsum cumulative_logsumexp digamma
            divide divide_no_nan equal erf erfc erfinv exp expm1 floor floordiv floormod greater
            greater_equal imag in_top_k invert_permutation is_finite is_inf is_nan is_non_decreasing
            is_strictly_increasing l2_normalize less less_equal lgamma log log1p log_sigmoid log_softmax
            logical_and logical_not logical_or logical_xor maximum minimum mod multiply multiply_no_nan
            ndtri negative nextafter not_equal polyval pow real reciprocal reciprocal_no_nan reduce_all
            reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean reduce_min
            reduce_prod reduce_std reduce_sum reduce_variance rint round rsqrt segment_max segment_mean
            segment_min segment_prod segment_sum sigmoid sign sin sinh softmax softplus softsign sqrt
            square squared_difference subtract tan tanh top_k truediv unsorted_segment_max
            unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sum xdivy
            xlog1py xlogy zero_fraction
        """),
        "nn": _words("""
            avg_pool avg_pool1d avg_pool2d batch_normalization bias_add conv1d conv2d conv2d_transpose
            convolution crelu depth_to_space depthwise_conv2d dropout elu embedding_lookup gelu l2_loss
            l2_normalize leaky_relu log_softmax max_pool max_pool1d max_pool2d moments relu relu6 selu
            separable_conv2d sigmoid sigmoid_cross_entropy_with_logits silu softmax
            softmax_cross_entropy_with_logits softplus softsign space_to_depth
            sparse_softmax_cross_entropy_with_logits swish tanh top_k weighted_cross_entropy_with_logits
            zero_fraction
        """),
        "linalg": _words("""
            adjoint band_part cholesky cholesky_solve cross det diag diag_part eigh eigvalsh einsum eye
            global_norm inv logdet lstsq lu matmul matrix_rank matrix_transpose matvec norm normalize pinv
            qr set_diag slogdet solve svd tensor_diag tensor_diag_part tensordot trace triangular_solve
        """),
        "strings": _words("""
            as_string bytes_split format join length lower reduce_join regex_full_match regex_replace
            split strip substr to_hash_bucket_fast to_number unicode_decode unicode_encode upper
        """),
        "debugging": _words("""
            Assert assert_all_finite assert_equal assert_greater assert_greater_equal assert_integer
            assert_less assert_less_equal assert_near assert_negative assert_non_negative
            assert_non_positive assert_none_equal assert_positive assert_rank assert_rank_at_least
            assert_rank_in assert_same_float_dtype assert_scalar assert_shapes assert_type check_numerics
            disable_check_numerics disable_traceback_filtering enable_check_numerics
            enable_traceback_filtering is_numeric_tensor is_traceback_filtering_enabled
        """),
        "random": _words("""
            Generator categorical fold_in gamma get_global_generator normal poisson set_global_generator
            set_seed shuffle split stateless_categorical stateless_normal stateless_truncated_normal
            stateless_uniform truncated_normal uniform
        """),
        "autograph": _words("set_verbosity to_code to_graph trace"),
        "autograph.experimental": _words("Feature do_not_convert set_loop_options"),
        "errors": _words("""
            ABORTED ALREADY_EXISTS AbortedError AlreadyExistsError CANCELLED CancelledError DATA_LOSS
            DEADLINE_EXCEEDED DataLossError DeadlineExceededError FAILED_PRECONDITION
            FailedPreconditionError INTERNAL INVALID_ARGUMENT InternalError InvalidArgumentError NOT_FOUND
            NotFoundError OK OUT_OF_RANGE OpError OperatorNotAllowedInGraphError OutOfRangeError
            PERMISSION_DENIED PermissionDeniedError RESOURCE_EXHAUSTED ResourceExhaustedError
            UNAUTHENTICATED UNAVAILABLE UNIMPLEMENTED UNKNOWN UnauthenticatedError UnavailableError
            UnimplementedError UnknownError
        """),
        "nest": _words("assert_same_structure flatten is_nested map_structure pack_sequence_as"),
        "bitwise": _words("bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"),
        "types.experimental": _words("""
            ConcreteFunction PolymorphicFunction SupportsTracingProtocol TensorLike TraceType
        """),
        "experimental": _words("ExtensionType Optional"),
        "experimental.dlpack": _words("from_dlpack to_dlpack"),
        "config": _words("""
            functions_run_eagerly get_visible_devices list_logical_devices list_physical_devices
            run_functions_eagerly set_soft_device_placement set_visible_devices
        """),
        "config.threading": _words("""
            get_inter_op_parallelism_threads get_intra_op_parallelism_threads
            set_inter_op_parallelism_threads set_intra_op_parallelism_threads
        """),
        "initializers": _words("""
            Constant GlorotNormal GlorotUniform HeNormal HeUniform Ones RandomNormal RandomUniform
            TruncatedNormal Zeros
        """),
        "optimizers": _words("Adam RMSprop SGD"),
        "compat.v1": _words("""
            Graph.as_default Session assign get_default_graph global_variables_initializer
            glorot_uniform_initializer gradients placeholder py_func reset_default_graph to_float
        """),
    },
    2: {
        "": _words("RaggedTensor RaggedTensorSpec"),
        "data": _words("""
            AUTOTUNE Dataset DatasetSpec FixedLengthRecordDataset INFINITE_CARDINALITY Iterator
            IteratorSpec NumpyIterator Options TFRecordDataset TextLineDataset ThreadingOptions
            UNKNOWN_CARDINALITY
        """),
        "data.Dataset": _words("""
            apply as_numpy_iterator batch bucket_by_sequence_length cache cardinality choose_from_datasets
            concatenate counter element_spec enumerate filter fingerprint flat_map from_generator
            from_tensor_slices from_tensors get_single_element group_by_window ignore_errors interleave
            list_files load map options padded_batch prefetch ragged_batch random range rebatch reduce
            rejection_resample repeat sample_from_datasets save scan shard shuffle skip snapshot
            sparse_batch take take_while unbatch unique window with_options zip
        """),
        "data.experimental": _words("AutoShardPolicy CsvDataset TFRecordWriter make_csv_dataset"),
        "io": _words("""
            FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature TFRecordOptions
            TFRecordWriter VarLenFeature decode_csv decode_raw matching_files parse_example
            parse_sequence_example parse_single_example parse_single_sequence_example parse_tensor
            read_file serialize_tensor write_file
        """),
        "io.gfile": _words("""
            GFile copy exists get_registered_schemes glob isdir join listdir makedirs mkdir remove rename
            rmtree stat walk
        """),
        "saved_model": _words("Asset LoadOptions SaveOptions contains_saved_model load save"),
        "train": _words("""
            BytesList Checkpoint CheckpointManager CheckpointOptions Example ExponentialMovingAverage
            Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample
            get_checkpoint_state latest_checkpoint list_variables load_checkpoint load_variable
        """),
        "keras": _words("""
            Input Model Sequential Variable activations applications backend callbacks constraints
            datasets initializers layers losses metrics models ops optimizers random regularizers utils
        """),
        "summary": _words("""
            SummaryWriter audio create_file_writer create_noop_writer flush graph histogram image
            record_if scalar should_record_summaries text trace_export trace_off trace_on write
        """),
        "profiler.experimental": _words("Profile ProfilerOptions Trace client server start stop"),
        "RaggedTensor": _words("""
            bounding_shape consumers dtype flat_values from_nested_row_lengths from_nested_row_splits
            from_nested_value_rowids from_row_lengths from_row_limits from_row_splits from_row_starts
            from_sparse from_tensor from_uniform_row_length from_value_rowids get_shape merge_dims
            nested_row_lengths nested_row_splits nested_value_rowids nrows numpy ragged_rank row_lengths
            row_limits row_splits row_starts shape to_list to_sparse to_tensor uniform_row_length
            value_rowids values with_flat_values with_row_splits_dtype with_values
        """),
        "ragged": _words("""
            boolean_mask constant cross cross_hashed map_flat_values range row_splits_to_segment_ids
            segment_ids_to_row_splits stack stack_dynamic_partitions
        """),
        "lookup": _words("""
            KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex
            TextFileInitializer
        """),
        "lookup.experimental": _words("DenseHashTable MutableHashTable"),
        "nn": _words("""
            all_candidate_sampler approx_max_k approx_min_k atrous_conv2d atrous_conv2d_transpose
            avg_pool3d batch_norm_with_global_normalization collapse_repeated compute_accidental_hits
            compute_average_loss conv1d_transpose conv3d conv3d_transpose conv_transpose
            ctc_beam_search_decoder ctc_greedy_decoder ctc_loss ctc_unique_labels
            depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input dilation2d
            embedding_lookup_sparse erosion2d fixed_unigram_candidate_sampler fractional_avg_pool
            fractional_max_pool in_top_k isotonic_regression learned_unigram_candidate_sampler
            local_response_normalization log_poisson_loss lrn max_pool3d max_pool_with_argmax nce_loss
            normalize_moments pool safe_embedding_lookup_sparse sampled_softmax_loss
            scale_regularization_loss space_to_batch sufficient_statistics weighted_moments
            with_space_to_batch
        """),
        "linalg": _words("""
            banded_triangular_solve eig eigh_tridiagonal eigvals expm l2_normalize logm lu_matrix_inverse
            lu_reconstruct lu_solve sqrtm tridiagonal_matmul tridiagonal_solve
        """),
        "math": _words("""
            approx_max_k approx_min_k bessel_i0 bessel_i0e bessel_i1 bessel_i1e betainc erfcinv igamma
            igammac lbeta polygamma scalar_mul sobol_sample unsorted_segment_sqrt_n zeta
        """),
        "math.special": _words("""
            bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1
            bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence
        """),
        "signal": _words("""
            dct fft fft2d fft3d fftnd fftshift frame hamming_window hann_window idct ifft ifft2d ifft3d
            ifftnd ifftshift inverse_mdct inverse_stft inverse_stft_window_fn irfft irfft2d irfft3d
            irfftnd kaiser_bessel_derived_window kaiser_window linear_to_mel_weight_matrix mdct
            mfccs_from_log_mel_spectrograms overlap_and_add rfft rfft2d rfft3d rfftnd stft vorbis_window
        """),
    },
    3: {
        "": _words("SparseTensor SparseTensorSpec"),
        "sparse": _words("""
            SparseTensor add bincount concat cross cross_hashed expand_dims eye fill_empty_rows from_dense
            map_values mask maximum minimum reduce_max reduce_sum reorder reset_shape reshape retain
            sampled_addmm segment_mean segment_sqrt_n segment_sum slice softmax sparse_dense_matmul split
            to_dense to_indicator transpose
        """),
        "image": _words("""
            ResizeMethod adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality
            adjust_saturation central_crop combined_non_max_suppression convert_image_dtype
            crop_and_resize crop_to_bounding_box decode_and_crop_jpeg decode_bmp decode_gif decode_image
            decode_jpeg decode_jxl decode_png decode_webp draw_bounding_boxes encode_jpeg encode_png
            extract_glimpse extract_jpeg_shape extract_patches flip_left_right flip_up_down
            generate_bounding_box_proposals grayscale_to_rgb hsv_to_rgb image_gradients is_jpeg
            non_max_suppression non_max_suppression_overlaps non_max_suppression_padded
            non_max_suppression_with_scores pad_to_bounding_box per_image_standardization psnr
            random_brightness random_contrast random_crop random_flip_left_right random_flip_up_down
            random_hue random_jpeg_quality random_saturation resize resize_with_crop_or_pad
            resize_with_pad rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90
            sample_distorted_bounding_box sobel_edges ssim ssim_multiscale stateless_random_brightness
            stateless_random_contrast stateless_random_crop stateless_random_flip_left_right
            stateless_random_flip_up_down stateless_random_hue stateless_random_jpeg_quality
            stateless_random_saturation stateless_sample_distorted_bounding_box total_variation transpose
            yiq_to_rgb yuv_to_rgb
        """),
        "sets": _words("difference intersection size union"),
        "distribute": _words("""
            MirroredStrategy MultiWorkerMirroredStrategy OneDeviceStrategy ReduceOp ReplicaContext
            Strategy get_replica_context get_strategy has_strategy in_cross_replica_context
        """),
        "linalg": _words("""
            LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag
            LinearOperatorBlockLowerTriangular LinearOperatorCirculant LinearOperatorCirculant2D
            LinearOperatorCirculant3D LinearOperatorComposition LinearOperatorDiag
            LinearOperatorFullMatrix LinearOperatorHouseholder LinearOperatorIdentity
            LinearOperatorInversion LinearOperatorKronecker LinearOperatorLowRankUpdate
            LinearOperatorLowerTriangular LinearOperatorPermutation LinearOperatorScaledIdentity
            LinearOperatorToeplitz LinearOperatorTridiag LinearOperatorZeros
        """),
        "experimental": _words("DynamicRaggedShape RowPartition StructuredTensor"),
    },
}
