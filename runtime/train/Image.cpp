//===- Image.cpp - The picture of the samples -----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Image.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <png.h>

namespace ff::rt {

std::vector<unsigned char> makeGrid(const ImagePolicy &image,
                                    const float *samples, int64_t count,
                                    int64_t channels, int64_t height,
                                    int64_t width) {
  int64_t scale = image.scale;
  int64_t rows = (count + image.columns - 1) / image.columns;
  int64_t gridWidth = image.columns * width * scale;
  int64_t gridHeight = rows * height * scale;
  std::vector<unsigned char> pixels(
      static_cast<size_t>(gridWidth * gridHeight * channels), 0);
  for (int64_t y = 0; y < gridHeight; ++y)
    for (int64_t x = 0; x < gridWidth; ++x) {
      int64_t sourceY = y / scale, sourceX = x / scale;
      int64_t index = sourceY / height * image.columns + sourceX / width;
      if (index >= count)
        continue;
      for (int64_t c = 0; c < channels; ++c) {
        float value =
            samples[((index * channels + c) * height + sourceY % height) *
                        width +
                    sourceX % width];
        double level =
            (static_cast<double>(value) - image.low) / (image.high - image.low);
        // NaN becomes black.
        level = level > 0 ? std::min(level, 1.0) : 0.0;
        pixels[static_cast<size_t>((y * gridWidth + x) * channels + c)] =
            static_cast<unsigned char>(std::lround(level * 255));
      }
    }
  return pixels;
}

void writePng(const std::string &path, const std::vector<unsigned char> &pixels,
              int64_t width, int64_t height, int64_t channels) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  if (!png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0,
                               nullptr))
    fail("cannot write {}: {}", path, image.message);
}

} // namespace ff::rt
