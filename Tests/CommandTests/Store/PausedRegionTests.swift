import Foundation
import TestSupport
import Testing

/// `mapstore client pause`, and syncs of the other regions.
@Suite(.ownThread) struct PausedRegionTests {
  @Test func syncAllDoesNotResumePausedDownloads() async throws {
    try await onThread {
      let story = try StoreStory(seed: 1, regions: 2)
      try story.open()
      try story.signUp("phone", "anna", buying: ["region.r0", "region.r1"])
      #expect(try story.client("phone", "sync").status == 0)
      let get = try story.start("phone", "get", "r0", "--reserve", "1", "--rate", "16384", "--progress", "bar")
      let isLoading = get.wait(timeout: 60) { story.partBytes("phone").values.contains { $0 > 0 } }
      get.send(SIGINT)
      let ended: CommandRun = get.wait(timeout: 30)
      #expect(isLoading && ended.status == 130, "\(ended)")
      // The bar is gone before the message.
      #expect(ended.stderr.contains("\r\u{1b}[K[") && ended.stderr.contains("\r\u{1b}[Kmapstore: inter"), "\(ended)")
      let paused = try story.client("phone", "pause", "r0")
      #expect(paused.status == 0 && paused.stdout.hasPrefix("paused r0; "), "\(paused)")
      let synced = try story.sync("phone")
      #expect(synced.status == 0 && synced.stdout.contains("paused at"), "\(synced)")
      #expect(try story.installed("phone") == ["r1"])
      #expect(try story.client("phone", "get", "r0", "--reserve", "1").status == 0)
      #expect(try story.installed("phone") == ["r0", "r1"])

      let check = try story.client("phone", "check", "--progress", "json")
      #expect(check.status == 0 && check.stdout == "all intact\n", "\(check)")
      let lines = try check.stderrLines.map { try JSONDecoder().decode(ProgressTests.Line.self, from: Data($0.utf8)) }
      let last = try #require(lines.last)
      #expect(last.unit == "bytes" && last.done == last.total && last.done > 0 && last.secondsLeft == 0, "\(check)")
      let out = try story.client("phone", "logout", "--json")
      #expect(out.status == 0 && out.stdout.contains(#""signedOut":true"#), "\(out)")
    }
  }
}
