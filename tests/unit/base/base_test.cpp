// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/process.h"
#include "base/queue.h"
#include "base/rng.h"
#include "base/text.h"

using namespace hone;

TEST_CASE("the random generator gives the published SplitMix64 sequence") {
  Rng rng(1234567);
  CHECK_EQ(rng.next(), 6457827717110365317ULL);
  CHECK_EQ(rng.next(), 3203168211198807973ULL);
}

TEST_CASE("bounded draws stay in bounds and reach every value") {
  Rng rng(7);
  std::vector<int> seen(5);
  for (int i = 0; i < 1000; ++i) ++seen[static_cast<size_t>(rng.between(0, 4))];
  for (const int count : seen) CHECK(count > 100);
}

TEST_CASE("a cursor's error has name, line, column, expected and found") {
  TextCursor cursor("abc\n  12x", "t");
  CHECK(cursor.accept("abc"));
  cursor.skip_blanks(true);
  CHECK_EQ(cursor.expect_integer("a size").value(), 12);
  CHECK_EQ(cursor.expect(",").error().message, "t:2:5: expected ',', found 'x'");
  CHECK_EQ(cursor.accept_word().value(), "x");
  CHECK_EQ(cursor.expected("more").error().message, "t:2:6: expected more, found the end of the text");
}

TEST_CASE("a word token does not match the start of a longer word") {
  TextCursor cursor("forall", "t");
  CHECK_FALSE(cursor.accept("for"));
  CHECK(cursor.accept("forall"));
}

TEST_CASE("closest finds a slip of the fingers and nothing far off") {
  CHECK_EQ(closest("mtamul", {"conv2d", "matmul"}).value(), "matmul");
  CHECK_FALSE(closest("zebra", {"conv2d", "matmul"}).has_value());
}

TEST_CASE("a process echoes through its pipes and reports its end") {
  auto process = Process::start({"cat"}, {});
  REQUIRE(process.has_value());
  const std::string text = "hello";
  const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  REQUIRE(write_all(process->to_child(), bytes, after_seconds(5)).has_value());
  uint8_t space[16];
  CHECK_EQ(read_some(process->from_child(), space, after_seconds(5)).value(), 5);
  CHECK_FALSE(read_some(process->from_child(), space, after_seconds(0.05)).has_value());
  process->close_stdin();
  CHECK_EQ(process->wait(after_seconds(5)).value().text(), "exit code 0");
}

TEST_CASE("a program that is not there is an error with its name") {
  CHECK_EQ(Process::start({"/no/such/program"}, {}).error().message,
           "cannot start /no/such/program: No such file or directory");
}

TEST_CASE("a queue hands everything over and drains after close") {
  Queue<int> queue(2);
  std::thread producer([&] {
    for (int i = 0; i < 100; ++i) queue.push(i);
    queue.close();
  });
  int sum = 0;
  while (const auto item = queue.pop()) sum += *item;
  producer.join();
  CHECK_EQ(sum, 4950);
  CHECK_FALSE(queue.push(1));
}

TEST_CASE("write_file replaces a file whole, and writes into what is no file") {
  char name[] = "/tmp/hone-base-XXXXXX";
  const std::string folder = mkdtemp(name);
  const std::string file = folder + "/file";
  const std::string pipe = folder + "/pipe";
  CHECK(write_file(file, "one").has_value());
  CHECK(write_file(file, "two").has_value());
  CHECK_EQ(read_file(file).value(), "two");
  REQUIRE_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE_GE(reader, 0);
  CHECK(write_file(pipe, "three").has_value());
  char got[8] = {};
  CHECK_EQ(::read(reader, got, sizeof got), 5);
  CHECK(std::filesystem::is_fifo(pipe));
  ::close(reader);
  CHECK_FALSE(write_file(folder, "a folder").has_value());
  std::filesystem::remove_all(folder);
}
