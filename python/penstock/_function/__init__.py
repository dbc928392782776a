"""`tf.function`: parameters, traces and what is told of them."""
