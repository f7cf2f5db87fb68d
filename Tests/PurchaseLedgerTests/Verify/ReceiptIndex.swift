import Foundation
import PurchaseLedger
import Support
import TestSupport
import Testing

/// The index of the optional test data: the format of each file and the expected result.
struct ReceiptIndex {
  struct Item: Sendable, CustomTestStringConvertible {
    let id: String
    let family: String
    let bytes: [UInt8]
    let expected: JSONValue
    let verdict: JSONValue?

    var testDescription: String { id }

    var isValid: Bool { verdict?["inspect"]?.string == "valid" }

    /// The roots and options under which the verdict holds.
    var identity: StoreIdentity {
      StoreIdentity(
        rootCertificates: (verdict?["roots"]?.array ?? []).compactMap { $0.string.map(ReceiptIndex.bytes(of:)) },
        bundleID: verdict?["bundleId"]?.string ?? verdict?["options"]?["bundleId"]?.string,
        requiredEnvironment: (verdict?["environment"]?.string ?? verdict?["options"]?["environment"]?.string)
          .map { StoreEnvironment(storeText: $0) })
    }
  }

  static let folder = "receipts"

  /// Empty if the data is absent. Tests that use it are then skipped.
  static let items: [Item] = {
    guard TestData.isPresent, let index = try? JSONReader.read(bytes(of: "index.json")) else { return [] }
    return (index["items"]?.array ?? []).map { item in
      Item(
        id: item["id"]?.string ?? "", family: item["family"]?.string ?? "",
        bytes: bytes(of: item["file"]?.string ?? ""),
        expected: item["expected"] ?? .null, verdict: item["verdict"])
    }
  }()

  static func item(_ id: String) -> Item { items.first { $0.id == id }! }

  static func bytes(of path: String) -> [UInt8] {
    Array((try? Data(contentsOf: TestData.url("\(folder)/\(path)"))) ?? Data())
  }
}

/// 2026-11-21, later than all dates in the data except those meant to lie in the future.
let testNow: Int64 = 1_795_219_200_000
