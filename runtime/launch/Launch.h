//===- Launch.h - Starts or joins the ranks ------------------- -*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_LAUNCH_LAUNCH_H
#define FF_RUNTIME_LAUNCH_LAUNCH_H

#include <optional>
#include <string>

namespace ff::rt {

/// This process among the ranks.
struct LaunchInfo {
  int rank = 0;
  int world = 1;
  int localRank = 0;
  int localWorld = 1; ///< ranks on this machine
  std::string masterAddress = "127.0.0.1";
  int masterPort = 0;
  /// The listening socket of the store, which rank 0 inherits from --ranks; -1
  /// where rank 0 opens it.
  int storeSocket = -1;
  /// A parent of ours reports ranks that die by a signal.
  bool supervised = false;
};

/// The value of an environment variable, or null.
using EnvironmentReader = const char *(*)(const char *name);

/// What the variables of torchrun, SLURM or Open MPI say; one rank where there
/// are none. An Error names the variable that is missing or wrong.
LaunchInfo launchFromEnvironment(EnvironmentReader read);

/// With `ranks` > 1 (or 0 and variables of a launcher) this process becomes one
/// of several ranks: it returns the info in each rank, and nothing in the
/// parent, once all ranks have ended, with their exit status in `status`. No
/// thread may run yet.
std::optional<LaunchInfo> launch(int ranks, int &status);

/// After this, SIGTERM and SIGINT do not end the process but make
/// stopRequested() true.
void catchStopSignals();
bool stopRequested();

/// Cores that this process may run on.
int availableCores();

} // namespace ff::rt

#endif // FF_RUNTIME_LAUNCH_LAUNCH_H
