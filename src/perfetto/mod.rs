//! Track operations → Perfetto packets. Knows no input format.
