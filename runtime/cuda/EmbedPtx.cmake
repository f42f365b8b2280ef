# Makes OUT, a C++ file with the text of the file PTX as ff::rt::cuda::NAME. Comments go: they are half of it.
file(READ ${PTX} text)
string(REGEX REPLACE "[ \t]*//[^\n]*" "" text "${text}")
string(REGEX REPLACE "\n\n+" "\n" text "${text}")
file(WRITE ${OUT} "namespace ff::rt::cuda {\nextern const char *const ${NAME};\nconst char *const ${NAME} = R\"PTX(${text})PTX\";\n} // namespace ff::rt::cuda\n")
