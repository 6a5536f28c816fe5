// Owns the precompiled header that most targets share (quick_build.cmake).
