import Foundation
import TestSupport
import Testing

/// One device, used by one person after another.
@Suite(.ownThread) struct SharedDeviceTests {
  /// Ends all sessions of the tablet's account from another device.
  private func endSessions(_ story: StoreStory) throws {
    let phone = story.folder.file("phone")
    try? FileManager.default.removeItem(atPath: phone)
    try FileManager.default.createDirectory(atPath: phone, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      atPath: story.folder.file("tablet/.mapstore-client.json"), toPath: phone + "/.mapstore-client.json")
    let run = try story.client("phone", "logout", "--everywhere")
    #expect(run.status == 0, "\(run)")
  }

  /// Dora's session was ended on another device, so nobody signed her out here; what she installed does not pass to the
  /// next account.
  @Test func nextAccountOnADeviceCannotOpenTheLastOnesRegions() async throws {
    try await onThread {
      let story = try StoreStory(seed: 1, regions: 1)
      try story.open()
      try story.signUp("tablet", "dora", buying: ["region.r0"])
      let synced = try story.sync("tablet")
      #expect(synced.status == 0, "\(synced)")
      try endSessions(story)
      #expect(try story.client("tablet", "library").status == 77)
      // The device does not know of it yet.
      #expect(try !story.client("tablet", "list").stdout.contains("r0: "))
      try story.signUp("tablet", "bert")
      let berts = try story.client("tablet", "list")
      #expect(berts.stdout.contains("r0: is not owned by this account"), "\(berts)")
      // Signing out of an ended session works, and removes what the device knew of its owner.
      try endSessions(story)
      let out = try story.client("tablet", "logout")
      #expect(out.status == 0, "\(out)")
      #expect(try story.client("tablet", "list").stdout.contains("r0: there is no grant"))
    }
  }
}
