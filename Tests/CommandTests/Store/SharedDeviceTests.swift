import Foundation
import TestSupport
import Testing

/// One device, one person after the other.
@Suite(.ownThread) struct SharedDeviceTests {
  /// Dora's session has ended elsewhere, so nobody signed her out here; what she installed is not the next one's.
  @Test func theNextPersonDoesNotGetWhatTheLastOneInstalled() async throws {
    try await onThread {
      let story = try StoreStory(seed: 1, regions: 1)
      try story.open()
      try story.signUp("tablet", "dora")
      try story.setQueue("tablet", [try story.sell("region.r0", to: try story.appAccountToken("tablet"))])
      let synced = try story.sync("tablet")
      #expect(synced.status == 0, "\(synced)")
      #expect(try !story.client("tablet", "list").stdout.contains("r0: "))

      try story.signIn("phone", "dora")
      #expect(try story.client("phone", "logout", "--everywhere").status == 0)
      #expect(try story.client("tablet", "library").status == 77)
      // Still hers, who knows no other.
      #expect(try !story.client("tablet", "list").stdout.contains("r0: "))
      try story.signUp("tablet", "bert")
      let berts = try story.client("tablet", "list")
      #expect(berts.stdout.contains("r0: is not owned by this account"), "\(berts)")

      // A session that is over is signed out of all the same, and what was known of its owner is forgotten.
      try story.signIn("tablet", "dora")
      #expect(try !story.client("tablet", "list").stdout.contains("r0: "))
      try story.signIn("phone", "dora")
      #expect(try story.client("phone", "logout", "--everywhere").status == 0)
      let out = try story.client("tablet", "logout")
      #expect(out.status == 0, "\(out)")
      #expect(try story.client("tablet", "list").stdout.contains("r0: no grant is here"))
    }
  }
}
