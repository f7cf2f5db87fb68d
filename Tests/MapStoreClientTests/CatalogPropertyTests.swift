import Foundation
import MapStoreWire
import RegionCatalog
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// After any sequence of operations a bundle in the folder equals a published edition byte for byte, and it can be
/// updated to the last one.
@Suite(.ownThread) struct ManagerPropertyTests {
  private enum Act: CaseIterable { case cut, kill, resume, pause, publish, uninstall, damagePart, sync }

  private static let isLong = TestEffort.isFull

  @Test(arguments: 0..<(isLong ? 200 : 10) as Range<UInt64>)
  func anySequenceLeavesWholeBundles(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let shop = try SampleShop()
    var editions = [try shop.publish("alps")]
    let store = try ChaosStore(shop, owned: ["alps"])
    defer { store.stop() }
    store.book.withLock { $0.linksDie = true }
    let device = try Device(store)
    var story: [String] = []
    for _ in 0..<12 {
      let act = Act.allCases.randomElement(using: &random)!
      let place = Int.random(in: 0..<editions[0].bytes, using: &random)
      story.append("\(act) \(place)")
      store.fault.withLock { $0 = { _ in .none } }
      let before = try device.edition("alps", of: editions)
      switch act {
      case .cut, .pause:
        store.fault.withLock { $0 = { _ in .cut(place) } }
        let manager = try device.manager { $0.retry.attemptsMax = 1 }
        _ = try? await manager.install("alps", from: device.client)
        if act == .pause { try await manager.pause("alps") }
      case .kill:
        let step = InstallStep.allCases.randomElement(using: &random)!
        let times = Int.random(in: 1...3, using: &random)
        let arguments = [device.folder.path, store.address, "first", "alps", "\(step.rawValue)", "\(times)"]
        _ = try await onThread { try Command(built: "CatalogProbe").run(arguments, timeout: 120) }
      case .resume: try await device.manager().install("alps", from: device.client)
      case .publish: if editions.count < 4 { editions.append(try shop.publish("alps")) }
      case .uninstall: try await device.manager().uninstall("alps")
      case .damagePart:
        for name in device.remains {
          var bytes = Array(try device.folder.bytes(".mapstore/\(name)"))
          if !bytes.isEmpty { bytes[place % bytes.count] ^= 0x10 }
          try device.folder.write(".mapstore/\(name)", bytes: bytes)
        }
      case .sync: _ = try await device.manager().sync(with: device.client)
      }
      let after = try device.edition("alps", of: editions)
      #expect(after != "", "seed \(seed): \(story): a bundle that is none of the shop's")
      if act != .uninstall { #expect(before == nil || after != nil, "seed \(seed): \(story): a bundle was lost") }
    }
    store.fault.withLock { $0 = { _ in .none } }
    let file = try await device.manager().install("alps", from: device.client)
    #expect(file.sha256 == editions.last!.sha256, "seed \(seed): \(story)")
    #expect(try device.edition("alps", of: editions) == editions.last!.edition, "seed \(seed): \(story)")
    #expect(device.remains == [], "seed \(seed): \(story)")
  }
}
