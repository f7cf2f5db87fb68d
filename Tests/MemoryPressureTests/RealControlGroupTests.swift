import Foundation
import TestSupport
import Testing

@testable import MemoryPressure

#if os(Linux)
  /// A real control group with a limit, where one can be created. The numbers are the kernel's; only the path of the
  /// own group is set by the test.
  @Suite(.ownThread) struct RealControlGroupTests {
    private struct Group {
      let version: ControlGroup.Version
      let mount: String
      let folder: String

      /// Nil where this process cannot create one.
      static func make() -> Group? {
        for (version, mount) in [(ControlGroup.Version.one, "/sys/fs/cgroup/memory"), (.two, "/sys/fs/cgroup")] {
          let group = Group(version: version, mount: mount, folder: "\(mount)/map-toolkit-test-\(UUID().uuidString)")
          guard mkdir(group.folder, 0o755) == 0 else { continue }
          // Otherwise it is no memory hierarchy.
          if group.write("67108864", version == .one ? "memory.limit_in_bytes" : "memory.max") { return group }
          group.remove()
        }
        return nil
      }

      func write(_ text: String, _ name: String) -> Bool {
        guard let file = fopen("\(folder)/\(name)", "w") else { return false }
        let count = fputs(text, file)
        return fclose(file) == 0 && count >= 0
      }

      func remove() { rmdir(folder) }

      var text: SystemText {
        let own = "/" + folder.dropFirst(mount.count + 1)
        return SystemText { path in
          switch path {
          case "/proc/self/cgroup": version == .one ? "4:memory:\(own)\n" : "0::\(own)\n"
          default: SystemText.files.read(path)
          }
        }
      }
    }

    @Test func realLimitIsFoundAndFilled() throws {
      guard let group = Group.make() else {
        print("skipped: no control group with a memory limit can be made here (it takes root)")
        return
      }
      defer { group.remove() }
      // A process of that group that holds 40 of 64 MB in anonymous memory.
      let holder = try Command(path: "/bin/sh").start([
        "-c",
        """
        echo $$ > '\(group.folder)/cgroup.procs' && exec python3 -c \
        'import sys,time; held=bytearray(b"x")*(40<<20); print("held",flush=True); time.sleep(60)'
        """,
      ])
      defer {
        holder.send(SIGKILL)
        _ = holder.wait()
      }
      guard holder.wait(timeout: 20, until: { holder.stdout.contains("held") }) else {
        print("skipped: no process could be put into the group: \(holder.stderr)")
        return
      }
      let found = ControlGroupMemory(group.text).readings().first { $0.source == .controlGroup(group.folder) }
      let used = try #require(found).used
      #expect(used > 0.6 && used < 0.95, "\(used)")
      // The kernel accepts thresholds, and notifies when memory passes one.
      let alarm = PressureAlarm(group.text, PressureGauge.Marks())
      #expect(alarm.count >= 1)
    }
  }
#endif
