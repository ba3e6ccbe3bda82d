//! A sealed workflow frame decides, call by call, what a coding agent may do.
