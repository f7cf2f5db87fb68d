import Foundation
import TestSupport
import Testing

#if os(Linux)
  /// A built server in a real control group whose limit is lowered around it.
  @Suite struct ServePressureTests {
    private static let hierarchy = "/sys/fs/cgroup/memory"

    private final class Group {
      let folder: String

      init?() {
        folder = "\(hierarchy)/map-toolkit-serve-\(UUID().uuidString)"
        guard mkdir(folder, 0o755) == 0 else { return nil }
        guard FileManager.default.fileExists(atPath: "\(folder)/memory.limit_in_bytes") else {
          rmdir(folder)
          return nil
        }
      }

      deinit { rmdir(folder) }

      func write(_ text: String, _ name: String) -> Bool {
        guard let file = fopen("\(folder)/\(name)", "w") else { return false }
        let count = fputs(text, file)
        return fclose(file) == 0 && count >= 0
      }

      /// Anonymous memory of the group, in bytes.
      var anonymous: Int {
        let text = (try? String(contentsOfFile: "\(folder)/memory.stat", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").first { $0.hasPrefix("total_rss ") }.flatMap { Int($0.dropFirst(10)) } ?? 0
      }
    }

    private func metric(_ server: RunningServer, _ name: String) throws -> Int {
      let line = try server.get("/metrics").text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
      return Int(try #require(line).dropFirst(name.utf8.count + 1)) ?? -1
    }

    @Test func memoryReallyGoes() throws {
      guard let group = Group() else {
        print("skipped: no control group of version 1 can be made here (it takes root)")
        return
      }
      let folder = try TemporaryFolder()
      try folder.writeBundle("relief.mbtiles", zooms: 0...3, seed: 3)
      let server = try RunningServer([folder.path, "--cache", "64MB", "--missing", "overzoom", "--prefetch", "off"])
      defer {
        server.process.send(SIGKILL)
        _ = server.process.wait()
      }
      guard group.write("\(server.process.processID)", "cgroup.procs") else {
        print("skipped: a process cannot be put into a control group here")
        return
      }
      // Memory is charged to the group from now on.
      let connection = try server.connect()
      var count = 0
      while count < 1200, try metric(server, "tileserve_cache_bytes") < 24 << 20 {
        for _ in 0..<40 {
          let (column, row) = (count % 64, count / 64 % 64)
          #expect(try connection.request("/relief/6/\(column)/\(row).png").status == 200)
          count += 1
        }
      }
      let kept = try metric(server, "tileserve_cache_bytes")
      let before = try metric(server, "process_resident_anonymous_bytes")
      #expect(try metric(server, "tileserve_memory_pressure") == 0)
      // What it has is 96% of what it may have.
      #expect(group.write("\(group.anonymous * 100 / 96)", "memory.limit_in_bytes"))
      #expect(
        try eventually { try metric(server, "tileserve_memory_pressure") == 2 },
        "\(group.anonymous) of \(group.anonymous * 100 / 96) bytes")
      #expect(try eventually { try metric(server, "tileserve_cache_bytes") < kept / 4 })
      // Freed, and given back: the process is smaller by most of what the cache held.
      #expect(
        try eventually { try before - metric(server, "process_resident_anonymous_bytes") > kept / 2 },
        "\(before) before, \(kept) kept")
      #expect(try server.get("/relief/6/1/1.png").status == 200)
      // And when there is room again, it is used again.
      #expect(group.write("-1", "memory.limit_in_bytes"))
      #expect(try eventually(seconds: 60) { try metric(server, "tileserve_memory_pressure") == 0 })
      #expect(try metric(server, "tileserve_cache_budget_bytes") == 32 << 20)
    }
  }
#endif
