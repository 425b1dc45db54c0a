//===- PrintTest.cpp ------------------------------------------------------===//

#include "attn/Layout/Print.h"

#include <gtest/gtest.h>

using namespace attn::layout;

static std::vector<std::string> lines(const std::string &text) {
  std::vector<std::string> out;
  size_t begin = 0, end;
  while ((end = text.find('\n', begin)) != std::string::npos) {
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  EXPECT_EQ(begin, text.size()) << "text must end with a line feed";
  return out;
}

TEST(Print, MmaC) {
  std::string error;
  auto out = lines(print(*Layout::make("mma_c", 16, 8, 1, error)));
  ASSERT_EQ(out.size(), 18u);
  EXPECT_EQ(out[0],
            "mma_c 16 x 8, warps 1, grid 1 x 1, registers 4 of 32 bits");
  EXPECT_EQ(out[1], "       0     1     2     3     4     5     6     7");
  EXPECT_EQ(out[2], " 0   0:0   0:1   1:0   1:1   2:0   2:1   3:0   3:1");
  EXPECT_EQ(out[3], " 1   4:0   4:1   5:0   5:1   6:0   6:1   7:0   7:1");
  EXPECT_EQ(out[17], "15  28:2  28:3  29:2  29:3  30:2  30:3  31:2  31:3");
}

TEST(Print, Swizzle) {
  std::string error;
  auto out = lines(print(*Swizzle::make(4, 32, 2, 64, error)));
  ASSERT_EQ(out.size(), 6u);
  EXPECT_EQ(out[0], "swizzle 64, 4 x 32 of 2 bytes, panels 1 of 256 bytes; "
                    "cell = byte offset / 16");
  EXPECT_EQ(out[1], "    0   1   2   3");
  EXPECT_EQ(out[2], "0   0   1   2   3");
  EXPECT_EQ(out[3], "1   4   5   6   7");
  EXPECT_EQ(out[4], "2   9   8  11  10");
  EXPECT_EQ(out[5], "3  13  12  15  14");
}
