"""What is known of values: shapes, specifications, the kinds of arguments."""
