// SPDX-License-Identifier: Apache-2.0
//
// The correctness gate of the comparison: on small shapes every library must give what the formula
// in double precision gives, and the reading of workload files must mean what they say.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "peers/case_toml.h"
#include "peers/machine.h"
#include "peers/peer.h"

using namespace hone;
using namespace hone::bench;

namespace {

std::vector<PeerCase> parsed(const std::string& text) {
  auto cases = parse_cases(text, "test.toml");
  REQUIRE_MESSAGE(cases, (cases ? "" : cases.error().message));
  return *cases;
}

Shape one(const std::string& fields) {
  return parsed("[[workload]]\nname = 'x'\n" + fields)[0].shape;
}

std::string fault(const std::string& text) {
  const auto cases = parse_cases(text, "test.toml");
  return cases ? "no fault" : cases.error().message;
}

struct Small {
  const char* fields;
  const char* libraries;  // that must have it; the others must not
};

// Every operator of the readers' table; awkward extents, each field away from its neutral value in
// at least one row.
const Small kSmall[] = {
    {"op='matmul'\nm=7\nn=13\nk=19", "onednn xnnpack openblas"},
    {"op='dense'\nm=5\nn=33\nk=17\nbias='no'", "onednn xnnpack openblas"},
    {"op='dense'\nm=5\nn=33\nk=17", "onednn xnnpack"},
    {"op='batch_matmul'\nbatch=3\nm=7\nn=13\nk=19", "onednn openblas"},
    {"op='transpose_batch_matmul'\nbatch=1\nseq=9\nheads=3\ndim=11", "onednn openblas"},
    {"op='conv1d'\ninput=[2,23,6]\nfilters=10\nkernel=[3]\nstride=2\npadding=1",
     "onednn onednn_nhwc xnnpack"},
    {"op='conv2d'\ninput=[2,11,13,6]\nfilters=10\nkernel=[3,5]\nstride=2\npadding=1",
     "onednn onednn_nhwc xnnpack"},
    {"op='conv2d'\ninput=[1,12,9,8]\nfilters=12\nkernel=[3,3]\npadding=2\ndilation=2\ngroups=4",
     "onednn onednn_nhwc xnnpack"},
    {"op='conv3d'\ninput=[1,5,7,6,3]\nfilters=10\nkernel=[3,3,3]\nstride=2\npadding=1",
     "onednn onednn_nhwc"},
    {"op='conv3d'\ninput=[2,5,7,6,3]\nfilters=10\nkernel=[1,3,3]\npadding=[0,1,1]",
     "onednn onednn_nhwc xnnpack"},
    {"op='conv3d'\ninput=[2,5,7,6,3]\nfilters=10\nkernel=[1,1,1]", "onednn onednn_nhwc xnnpack"},
    {"op='depthwise_conv2d'\ninput=[1,9,11,19]\nkernel=[3,3]\nstride=2\npadding=1",
     "onednn onednn_nhwc xnnpack"},
    {"op='depthwise_conv2d'\ninput=[1,9,11,6]\nkernel=[3,3]\nmultiplier=2",
     "onednn onednn_nhwc xnnpack"},
    {"op='conv2d_transpose'\ninput=[1,3,4,6]\nfilters=10\nkernel=[5,4]\nstride=[3,2]",
     "onednn onednn_nhwc xnnpack"},
    {"op='conv2d_transpose'\ninput=[2,5,4,6]\nfilters=10\nkernel=[4,4]\nstride=2\npadding=1",
     "onednn onednn_nhwc xnnpack"},
    {"op='conv2d_capsule'\ninput=[1,6,7,3]\nfilters=5\nkernel=[3,3]\nstride=2\npadding=1\ncapsule="
     "4",
     "onednn onednn_nhwc xnnpack"},
    {"ops=[{op='conv2d',input=[1,8,8,6],filters=10,kernel=[3,3],padding=1},{op='bias'},"
     "{op='batch_norm'},{op='relu'}]",
     "onednn onednn_nhwc xnnpack"},
    {"ops=[{op='dense',m=5,n=33,k=17,bias='no'},{op='relu'}]", "onednn xnnpack"},
    {"op='max_pool2d'\ninput=[2,9,11,19]\nkernel=[3,3]\nstride=2\npadding=1", "onednn xnnpack"},
    {"op='avg_pool2d'\ninput=[2,9,11,19]\nkernel=[3,3]\nstride=2\npadding=1", "onednn xnnpack"},
    {"op='softmax'\nm=7\nn=37", "onednn xnnpack"},
    {"op='layer_norm'\nm=7\nn=37", "onednn"},
    {"op='norm'\nbatch=3\nm=7\nn=37", "openblas"},
    {"op='elementwise'\nfunction='relu'\nshape=[7,37]", "onednn xnnpack"},
    {"op='relu'\nshape=[259]", "onednn xnnpack"},
    {"op='elementwise'\nfunction='gelu'\nshape=[7,37]", "onednn"},
    {"op='elementwise'\nfunction='sigmoid'\nshape=[7,37]", "onednn xnnpack"},
    {"op='elementwise'\nfunction='tanh'\nshape=[7,37]", "onednn"},
};

}  // namespace

TEST_CASE("every library gives the formula's result") {
  for (const Small& small : kSmall) {
    CAPTURE(small.fields);
    const Shape shape = one(small.fields);
    const Inputs inputs = make_inputs(shape, 7);
    const std::vector<float> wanted = reference(shape, inputs);
    CHECK(static_cast<int64_t>(wanted.size()) == output_size(shape));
    std::string libraries;
    for (const PeerLibrary& library : peer_libraries()) {
      for (const int threads : {1, 2}) {
        CAPTURE(library.name);
        CAPTURE(threads);
        auto peer = library.prepare(shape, inputs, threads);
        REQUIRE_MESSAGE(peer, (peer ? "" : peer.error().message));
        if (!*peer) continue;
        REQUIRE((*peer)->run());
        REQUIRE((*peer)->run());  // a second run must not add to the first
        const auto output = (*peer)->output();
        REQUIRE(output);
        CHECK(difference(*output, wanted) < 1e-5);
        if (threads == 1) libraries += (libraries.empty() ? "" : " ") + std::string(library.name);
      }
    }
    CHECK(libraries == small.libraries);
  }
}

TEST_CASE("the comparison of results sees one wrong element") {
  const Shape shape = one("op='softmax'\nm=7\nn=37");
  const std::vector<float> right = reference(shape, make_inputs(shape, 7));
  std::vector<float> wrong = right;
  CHECK(difference(wrong, right) == 0.0);
  wrong[100] += 1e-3f;
  CHECK(difference(wrong, right) > 1e-3);
  wrong[100] = std::nanf("");
  CHECK(difference(wrong, right) > 1e300);
  wrong.pop_back();
  CHECK(difference(wrong, right) > 1e300);
}

// The formula of the capsule convolution, written over its own six axes, against its reading as a
// convolution over three.
TEST_CASE("a capsule convolution is a convolution over three axes") {
  const int64_t extent = 5, kernel = 3, stride = 2, channels = 2, filters = 3, capsule = 4, out = 3;
  const Shape shape =
      one("op='conv2d_capsule'\ninput=[1,5,5,2]\nfilters=3\nkernel=[3,3]\nstride=2\npadding=1\n"
          "capsule=4");
  const Inputs inputs = make_inputs(shape, 3);
  // Weights [ry, rx, k, j, c, f] stand in the wider convolution as [ry, rx, (k, c), (j, f)].
  const auto weight = [&](int64_t ry, int64_t rx, int64_t k, int64_t j, int64_t c, int64_t f) {
    return inputs[1][static_cast<size_t>(
        (((ry * kernel + rx) * capsule + k) * channels + c) * capsule * filters + j * filters + f)];
  };
  std::vector<float> wanted;
  for (int64_t y = 0; y < out; ++y)
    for (int64_t x = 0; x < out; ++x)
      for (int64_t i = 0; i < capsule; ++i)
        for (int64_t j = 0; j < capsule; ++j)
          for (int64_t f = 0; f < filters; ++f) {
            double sum = 0;
            for (int64_t ry = 0; ry < kernel; ++ry)
              for (int64_t rx = 0; rx < kernel; ++rx) {
                const int64_t iy = y * stride + ry - 1, ix = x * stride + rx - 1;
                if (iy < 0 || ix < 0 || iy >= extent || ix >= extent) continue;
                for (int64_t k = 0; k < capsule; ++k)
                  for (int64_t c = 0; c < channels; ++c)
                    sum +=
                        double{inputs[0][static_cast<size_t>(
                            (((iy * extent + ix) * capsule + i) * capsule + k) * channels + c)]} *
                        double{weight(ry, rx, k, j, c, f)};
              }
            wanted.push_back(static_cast<float>(sum));
          }
  CHECK(difference(reference(shape, inputs), wanted) < 1e-6);
}

TEST_CASE("work counts the taps that meet data") {
  // 1-d, 3 taps over 4 positions with padding 1: the outer two positions miss one tap each.
  const Work work = work_of(one("op='conv1d'\ninput=[1,4,1]\nfilters=1\nkernel=[3]\npadding=1"));
  CHECK(work.flops == 2 * 12);
  CHECK(work.useful_flops == 2 * 10);
  CHECK(work.bytes == 4 * (4 + 3 + 4));
}

// The nominal sizes of the published tuning set, in MFLOP.
TEST_CASE("all workload files load, with the published amount of work") {
  const std::map<std::string, double> published{
      {"C1D.2", 41.94},    {"C2D.0", 236.03}, {"C2D.3", 231.21}, {"C3D.0", 13217.56},
      {"C3D.3", 11098.13}, {"GMM.1", 16.78},  {"GRP.0", 28.90},  {"GRP.3", 57.80},
      {"DIL.0", 223.55},   {"DIL.3", 117.96}, {"DEP.0", 7.23},   {"DEP.2", 0.45},
      {"T2D.0", 67.11},    {"T2D.3", 6.29},   {"CAP.0", 75.50},  {"CAP.3", 18.87},
      {"NRM.3", 8.39},     {"CBR.1", 115.61}, {"CBR.2", 12.85},  {"TBG.3", 50.33}};
  const std::filesystem::path root = HONE_SOURCE_DIR "/bench/workloads";
  std::map<std::string, int> files;
  size_t checked = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".toml") continue;
    CAPTURE(entry.path().string());
    const auto cases = load_cases(entry.path().string());
    REQUIRE_MESSAGE(cases, (cases ? "" : cases.error().message));
    ++files[entry.path().parent_path().filename().string()];
    for (const PeerCase& workload : *cases) {
      const auto known = published.find(workload.name);
      if (known == published.end()) continue;
      CHECK(std::abs(work_of(workload.shape).flops / 1e6 - known->second) < 0.006);
      ++checked;
    }
  }
  CHECK(checked == published.size());
  CHECK(files["workloads"] == 44);
  CHECK(files["subgraphs"] == 8);
}

TEST_CASE("faults of workload files say where and what") {
  CHECK(fault("[[workload]").starts_with("test.toml:1: "));
  CHECK(fault("x = 1") == "test.toml: no [[workload]]");
  CHECK(fault("\n[[workload]]\nname='a'\nop='matmul'\nm=1\nn=2") ==
        "test.toml:2: workload 'a': 'k' must be a positive integer");
  CHECK(fault("[[workload]]\nname='a'\nop='fft'") ==
        "test.toml:1: workload 'a': the comparison has no operator 'fft'");
  CHECK(fault("[[workload]]\nname='a'\ncompute='x'") ==
        "test.toml:1: workload 'a': written in the text language, which no other library has");
  CHECK(fault("[[workload]]\nname='a'\nop='matmul'\nm=1\nn=2\nk=3\ndtype='i8'") ==
        "test.toml:1: workload 'a': the comparison has f32 only, not i8");
  CHECK(fault("[[workload]]\nname='a'\nop='conv1d'\ninput=[1,2,3]\nfilters=1\nkernel=[9]") ==
        "test.toml:1: workload 'a': the kernel is larger than the padded input");
  CHECK(fault("[[workload]]\nname='a'\nops=[{op='softmax',m=2,n=2},{op='bias'}]") ==
        "test.toml:1: workload 'a': the comparison cannot append 'bias' here");
}

TEST_CASE("the machine's limits are measured") {
  const auto one_thread = fma_peak_gflops(1);
  REQUIRE(one_thread);
  CHECK(*one_thread > 1.0);
  CHECK_FALSE(fma_peak_gflops(100000));
  CHECK(read_bandwidth_gbs(64 << 10) > 1.0);
  CHECK_FALSE(pin_threads(100000));
}
