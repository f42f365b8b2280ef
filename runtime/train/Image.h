//===- Image.h - The picture of the samples -------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_IMAGE_H
#define FF_RUNTIME_TRAIN_IMAGE_H

#include "runtime/core/Metadata.h"

#include <string>
#include <vector>

namespace ff::rt {

/// A grid of `count` samples [channels, height, width] of f32 as 8-bit pixels,
/// row by row from the top left; `image` says how many columns, which values
/// are black and white, and the integer scale. Cells without a sample are
/// black.
std::vector<unsigned char> makeGrid(const ImagePolicy &image,
                                    const float *samples, int64_t count,
                                    int64_t channels, int64_t height,
                                    int64_t width);

/// Writes 1 (grey) or 3 (RGB) channels, interleaved. An Error names the path.
void writePng(const std::string &path, const std::vector<unsigned char> &pixels,
              int64_t width, int64_t height, int64_t channels);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_IMAGE_H
