import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

#if os(Linux)
  /// The built server in a real control group whose limit is lowered while it runs.
  @Suite(.ownThread) struct ServePressureTests {
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

      /// The group's memory without file pages, in bytes.
      var used: Int {
        func text(_ name: String) -> String {
          (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? ""
        }
        let files = text("memory.stat").split(separator: "\n").filter {
          $0.hasPrefix("total_inactive_file ") || $0.hasPrefix("total_active_file ")
        }.compactMap { Int($0.split(separator: " ")[1]) }.reduce(0, +)
        return (Int(text("memory.usage_in_bytes").filter(\.isNumber)) ?? 0) - files
      }
    }

    private func metric(_ server: RunningServer, _ name: String) throws -> Int {
      let line = try server.get("/metrics").text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
      return Int(try #require(line).dropFirst(name.utf8.count + 1)) ?? -1
    }

    /// A bundle whose tiles are noise: tiles drawn from them take 100 kB and more.
    private func writeNoise(_ folder: TemporaryFolder) throws {
      var random = SeededGenerator(seed: 5)
      let writer = try BundleWriter(path: folder.file("noise.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
      let encoder = TileEncoder(.png(PNGOptions()))
      for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 1) {
        let pixels = PixelBuffer(width: 256, height: 256)
        for y in 0..<256 {
          for x in 0..<256 {
            let colour = UInt32.random(in: 0...0xff_ffff, using: &random) | 0xff00_0000
            pixels.bytes.storeBytes(of: colour, toByteOffset: y * pixels.rowBytes + x * 4, as: UInt32.self)
          }
        }
        try writer.put(tile, encoder.encode(pixels))
      }
      _ = try writer.finish(BundleMetadata(name: "Noise"))
    }

    @Test func memoryPressureFreesMemory() throws {
      guard let group = Group() else {
        print("skipped: no control group of version 1 can be made here (it takes root)")
        return
      }
      let folder = try TemporaryFolder()
      try writeNoise(folder)
      let server = try RunningServer(
        [folder.path, "--cache", "64MB", "--missing", "overzoom"], environment: ["TILESERVE_PREFETCH": "off"])
      defer {
        server.process.send(SIGKILL)
        _ = server.process.wait()
      }
      guard group.write("\(server.process.processID)", "cgroup.procs") else {
        print("skipped: a process cannot be put into a control group here")
        return
      }
      guard try metric(server, "tileserve_memory_pressure") == 0 else {
        print("skipped: this machine is short of memory already")
        return
      }
      // From here on memory is charged to the group.
      let connection = try server.connect()
      var count = 0
      while count < 120, try metric(server, "tileserve_cache_bytes") < 6 << 20 {
        for _ in 0..<20 {
          let (column, row) = (count % 32, count / 32)
          #expect(try connection.request("/noise/5/\(column)/\(row).png").status == 200)
          count += 1
        }
      }
      let kept = try metric(server, "tileserve_cache_bytes")
      let budget = try metric(server, "tileserve_cache_budget_bytes")
      let before = try metric(server, "process_resident_anonymous_bytes")
      #expect(try metric(server, "tileserve_memory_pressure") == 0)
      // It has 96 % of its limit.
      let limit = group.used * 100 / 96
      // The kernel may have to release file pages first.
      #expect(eventually { group.write("\(limit)", "memory.limit_in_bytes") })
      #expect(
        try eventually { try metric(server, "tileserve_memory_pressure") == 2 }, "\(group.used) of \(limit) bytes")
      #expect(try eventually { try metric(server, "tileserve_cache_bytes") < kept / 4 })
      // The process is smaller by most of what the cache held.
      #expect(
        try eventually { try before - metric(server, "process_resident_anonymous_bytes") > kept / 2 },
        "\(before) before, \(kept) kept")
      #expect(try server.get("/noise/5/1/1.png").status == 200)
      // Without the pressure the cache fills again.
      #expect(group.write("-1", "memory.limit_in_bytes"))
      #expect(try eventually(seconds: 60) { try metric(server, "tileserve_memory_pressure") == 0 })
      // The level is told before the cache is adjusted to it.
      #expect(try eventually { try metric(server, "tileserve_cache_budget_bytes") == budget })
    }
  }
#endif
