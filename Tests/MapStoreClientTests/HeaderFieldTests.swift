import Foundation
import Support
import TestSupport
import Testing

@testable import MapStoreClient
@testable import MapStoreWire

@Suite(.ownThread) struct HeaderFieldTests {
  @Test func waitsGrowAndAreSpread() {
    let retry = RetryRule()
    for attempt in 1...20 {
      let waits = (0..<200).map { _ in retry.delay(attempt) }
      #expect(waits.allSatisfy { (0...min(30, 0.5 * Double(1 << (attempt - 1)))).contains($0) })
      #expect(Set(waits).count > 150)
    }
    #expect(retry.delay(1, asked: 9) >= 9)
  }

  @Test(arguments: ["../up", "a/b", ".hidden", "a\nb", String(repeating: "x", count: 201)])
  func namesThatCouldLeaveTheFolderAreRefused(name: String) {
    #expect(!RegionPart(region: name).isSafe)
    #expect(
      !RegionPart(region: "alps", pack: name).isSafe && !RegionPart(region: "alps", pack: name + ".mbtiles").isSafe)
  }
}
