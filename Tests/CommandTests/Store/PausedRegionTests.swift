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
      let get = try story.start("phone", "get", "r0", "--reserve", "1", "--rate", "16384", "--progress", "none")
      let isLoading = get.wait(timeout: 60) { story.partBytes("phone").values.contains { $0 > 0 } }
      get.send(SIGINT)
      let ended: CommandRun = get.wait(timeout: 30)
      #expect(isLoading && ended.status == 130, "\(ended)")
      #expect(try story.client("phone", "pause", "r0").status == 0)
      let synced = try story.sync("phone")
      #expect(synced.status == 0 && synced.stdout.contains("paused at"), "\(synced)")
      #expect(try story.installed("phone") == ["r1"])
      #expect(try story.client("phone", "get", "r0", "--reserve", "1").status == 0)
      #expect(try story.installed("phone") == ["r0", "r1"])
    }
  }
}
