import TestSupport
import Testing

@testable import MemoryPressure

/// The kernel's files as on real machines, in containers, and damaged.
@Suite(.ownThread) struct KernelTextTests {
  private func text(_ files: [String: String]) -> SystemText { SystemText { files[$0] } }

  private static let meminfo = """
    MemTotal:       16384000 kB
    MemFree:          200000 kB
    MemAvailable:    4096000 kB
    Buffers:          100000 kB

    """
  private static let mountsTwo = """
    21 28 0:19 / /proc rw,nosuid shared:5 - proc proc rw
    31 21 0:27 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate

    """
  private static let mountsOne = """
    31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
    32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
    35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
    41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw

    """

  @Test func machineMemoryIsRead() {
    let readings = MachineMemory(text(["/proc/meminfo": Self.meminfo])).readings()
    #expect(readings == [PressureReading(.machine, used: 0.75)])
  }

  @Test(arguments: [
    "", "MemTotal: x kB\nMemAvailable: 1 kB", "MemTotal: 0 kB\nMemAvailable: 0 kB", "MemTotal: 10 kB",
    "MemTotal: 10 kB\nMemAvailable: 11 kB", "MemTotal: 10 kB\nMemAvailable: -1 kB", "\0\0\u{FFFD}",
    "MemTotal: 99999999999999999999999 kB\nMemAvailable: 1 kB",
  ])
  func damagedMeminfoIsIgnored(meminfo: String) {
    #expect(MachineMemory(text(["/proc/meminfo": meminfo])).readings().isEmpty)
  }

  @Test func limitsOfAncestorsOfVersionTwoAreRead() {
    let readings = ControlGroupMemory(
      text([
        "/proc/self/cgroup": "0::/user.slice/maps:1.service\n", "/proc/self/mountinfo": Self.mountsTwo,
        "/sys/fs/cgroup/user.slice/maps:1.service/memory.max": "max\n",
        "/sys/fs/cgroup/user.slice/maps:1.service/memory.high": "1000\n",
        "/sys/fs/cgroup/user.slice/maps:1.service/memory.current": "900\n",
        "/sys/fs/cgroup/user.slice/maps:1.service/memory.stat":
          "anon 300\nfile 600\ninactive_anon 1\nactive_file 100\ninactive_file 400\n",
        "/sys/fs/cgroup/user.slice/memory.max": "2000\n",
        "/sys/fs/cgroup/user.slice/memory.current": "1900\n",
      ])
    ).readings()
    #expect(
      readings == [
        PressureReading(.controlGroup("/sys/fs/cgroup/user.slice/maps:1.service"), used: 0.4),
        PressureReading(.controlGroup("/sys/fs/cgroup/user.slice"), used: 0.95),
      ])
  }

  @Test func limitsOfVersionOneAreRead() {
    let group = "/sys/fs/cgroup/memory/app"
    let readings = ControlGroupMemory(
      text([
        "/proc/self/cgroup": "9:name=systemd:/\n4:memory:/app\n1:cpu,cpuacct:/other\n0::/\n",
        "/proc/self/mountinfo": Self.mountsOne, "\(group)/memory.limit_in_bytes": "1000\n",
        "\(group)/memory.usage_in_bytes": "950\n",
        "\(group)/memory.stat":
          "cache 5\ninactive_file 1\ntotal_inactive_file 200\ntotal_active_file 50\nhierarchical_memory_limit 1000\n",
        // "No limit" is a number.
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes": "5000\n",
      ])
    ).readings()
    #expect(readings == [PressureReading(.controlGroup(group), used: 0.7)])
  }

  /// In a container the mount starts at the container's own group, whatever the path says.
  @Test(arguments: [
    ("/docker/abc", "/docker/abc", ["/g"]), ("/docker/abc", "/docker/abc/x", ["/g/x", "/g"]),
    ("/docker/abc", "/elsewhere", ["/g"]), ("/", "/../..", ["/g"]), ("/", "/", ["/g"]),
    ("/", "/a/b", ["/g/a/b", "/g/a", "/g"]),
  ])
  func containerMountsAreResolved(root: String, path: String, folders: [String]) {
    let files = text([
      "/proc/self/cgroup": "0::\(path)\n", "/proc/self/mountinfo": "31 21 0:27 \(root) /g rw - cgroup2 cgroup2 rw\n",
    ])
    #expect(ControlGroup.all(files).map(\.folder) == folders)
  }

  @Test func mountPointsWithSpacesAreUnescaped() {
    let files = text([
      "/proc/self/cgroup": "0::/a\n",
      "/proc/self/mountinfo": "31 21 0:27 / /c\\040group rw shared:1 master:2 - cgroup2 cgroup2 rw\n",
    ])
    #expect(ControlGroup.all(files).map(\.folder) == ["/c group/a", "/c group"])
  }

  @Test(arguments: [
    ("", ""), ("0::/", ""), ("0:/\n::\n:", "1 2 3"), ("4:memory:/x", "31 21 - cgroup"), ("x\0y", "- - - - - - - -"),
    ("0::/a", "31 21 0:27 / /g rw - cgroup2"),
  ])
  func damagedGroupFilesAreIgnored(group: String, mounts: String) {
    let files = text(["/proc/self/cgroup": group, "/proc/self/mountinfo": mounts])
    #expect(ControlGroup.all(files).isEmpty)
    #expect(ControlGroupMemory(files).readings().isEmpty)
  }

  @Test(arguments: ["", "max 5", "-1", "0", "1e9", "99999999999999999999999999"])
  func damagedLimitsAreIgnored(limit: String) {
    let files = text([
      "/proc/self/cgroup": "0::/a\n", "/proc/self/mountinfo": Self.mountsTwo, "/sys/fs/cgroup/a/memory.max": limit,
      "/sys/fs/cgroup/a/memory.current": "500",
    ])
    #expect(ControlGroupMemory(files).readings().isEmpty)
  }

  @Test(arguments: [
    (0.0, 0.0, 0.0), (5.0, 0.0, 0.4), (10.0, 0.0, 0.8), (60.0, 0.0, 0.85), (12.0, 5.0, 0.85), (30.0, 10.0, 0.9),
    (90.0, 80.0, 1.0),
  ])
  func stallTimesBecomeReadings(some: Double, full: Double, used: Double) throws {
    let stalls = "some avg10=\(some) avg60=1.00 avg300=0.10 total=1\nfull avg10=\(full) avg60=0.0 avg300=0.0 total=0\n"
    let reading = try #require(StallTimes(text(["/proc/pressure/memory": stalls])).readings().first)
    #expect(reading.source == .stalls && abs(reading.used - used) < 1e-9)
  }

  @Test(arguments: ["", "some", "some avg10=x", "full avg10=nan", "some avg10=-1 avg60=0", "some avg10=101"])
  func damagedStallTimesAreIgnored(stalls: String) {
    #expect(StallTimes(text(["/proc/pressure/memory": stalls])).readings().isEmpty)
  }

  /// The stall times of the own group come before the machine's.
  @Test func stallTimesOfTheOwnGroupComeFirst() {
    let files = text([
      "/proc/self/cgroup": "0::/a\n", "/proc/self/mountinfo": Self.mountsTwo,
      "/sys/fs/cgroup/a/memory.pressure": "some avg10=2.00 avg60=0.00\nfull avg10=0.00 avg60=0.00\n",
      "/proc/pressure/memory": "some avg10=90.00\nfull avg10=80.00\n",
    ])
    #expect(StallTimes(files).readings() == [PressureReading(.stalls, used: 0.16)])
  }

  /// Any text is read without a trap, and readings are numbers.
  @Test(arguments: UInt64(1)...20) func anyTextIsReadSafely(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let pieces = [
      "0::/", "4:memory:", "/a", "..", "\n", " ", "-", "cgroup2", "cgroup", "memory", "max", "MemTotal:",
      "MemAvailable:",
      "9", "9999999999999999999", "avg10=", "some", "full", "inactive_file", "\\040", "\\9", ".", "%", "\0", "é",
    ]
    for _ in 0..<200 {
      let made = (0..<6).map { _ in
        (0..<Int.random(in: 0...30, using: &random)).map { _ in pieces.randomElement(using: &random)! }.joined()
      }
      let count = made.count
      let files = SystemText { path in made[path.utf8.reduce(0) { $0 &+ Int($1) } % count] }
      for reading in SystemPressure(files).readings() { #expect(reading.used.isFinite, "seed \(seed): \(made)") }
    }
  }
}
