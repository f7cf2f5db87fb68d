import Foundation
import TestSupport
import Testing

/// One device, one person after the other.
@Suite(.ownThread) struct SharedDeviceTests {
  /// Ends all sessions of who is signed in on the tablet, from somewhere else.
  private func endSessions(_ story: StoreStory) throws {
    let phone = story.folder.file("phone")
    try? FileManager.default.removeItem(atPath: phone)
    try FileManager.default.createDirectory(atPath: phone, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      atPath: story.folder.file("tablet/.mapstore-client.json"), toPath: phone + "/.mapstore-client.json")
    let run = try story.client("phone", "logout", "--everywhere")
    #expect(run.status == 0, "\(run)")
  }

  /// Dora's session has ended elsewhere, so nobody signed her out here; what she installed is not the next one's.
  @Test func nextAccountOnADeviceCannotOpenTheLastOnesRegions() async throws {
    try await onThread {
      let story = try StoreStory(seed: 1, regions: 1)
      try story.open()
      try story.signUp("tablet", "dora", buying: ["region.r0"])
      let synced = try story.sync("tablet")
      #expect(synced.status == 0, "\(synced)")
      try endSessions(story)
      #expect(try story.client("tablet", "library").status == 77)
      // Still hers, as far as is known here.
      #expect(try !story.client("tablet", "list").stdout.contains("r0: "))
      try story.signUp("tablet", "bert")
      let berts = try story.client("tablet", "list")
      #expect(berts.stdout.contains("r0: is not owned by this account"), "\(berts)")
      // A session that is over is signed out of all the same, and what was known of its owner is forgotten.
      try endSessions(story)
      let out = try story.client("tablet", "logout")
      #expect(out.status == 0, "\(out)")
      #expect(try story.client("tablet", "list").stdout.contains("r0: no grant is here"))
    }
  }
}
