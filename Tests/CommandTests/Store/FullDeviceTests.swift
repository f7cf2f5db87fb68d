import Foundation
import TestSupport
import Testing

/// A device without a free byte.
@Suite(.ownThread, .enabled(if: SmallDisk.isAvailable, "no small disk can be mounted here (unshare, mount)"))
struct FullDeviceTests {
  /// Lists work, and removing, which frees space.
  @Test func removingARegionMakesRoomOnAFullDisk() async throws {
    try await onThread {
      let story = try StoreStory(seed: 1, regions: 2)
      try story.open()
      try story.signUp("phone", "anna", buying: ["region.r0", "region.r1"])
      let synced = try story.sync("phone")
      #expect(synced.status == 0, "\(synced)")
      let disk = try TemporaryFolder()
      let line = """
        cp -a "$1" maps && rm -f maps/.mapstore/state.sqlite-* && dd if=/dev/zero of=fill bs=512 2>fault; \
        grep -q 'No space' fault && rm fault && dd if=/dev/zero of=rest bs=1 2>/dev/null; df --output=avail . | tail -1
        client() { verb=$1; shift; "$mapstore" client $verb --folder maps "$@" 2>&1; echo "$verb: status $?"; }
        mapstore=$2; client list; client library; client remove r0; ls maps; client list; client remove r1; client list
        """
      let run = try #require(
        try SmallDisk.run(
          in: disk.path, kilobytes: 4000, line, [story.folder.file("phone"), Command(built: "mapstore").path]))
      let lines = run.stdoutLines
      #expect(lines.first.map { $0.filter { $0 != " " } } == "0", "\(run)")
      let states = lines.filter { $0.contains(": status ") }
      #expect(
        states == ["list", "library", "remove", "list", "remove", "list"].map { "\($0): status 0" }, "\(run)")
      #expect(lines.count { $0.hasPrefix("r0 ") && $0.contains("  installed") } == 2, "\(run)")
      #expect(lines.count { $0.hasPrefix("r0 ") && $0.contains("owned, not installed") } == 2, "\(run)")
      #expect(lines.filter { $0.hasSuffix(".mbtiles") } == ["r1.mbtiles"], "\(run)")
    }
  }
}
