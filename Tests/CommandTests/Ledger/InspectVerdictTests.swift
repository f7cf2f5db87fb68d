import Foundation
import TestSupport
import Testing

/// Every verdict of the test data, through the command.
@Suite(.ownThread, .enabled(if: TestData.isPresent, "\(TestData.skipMessage)"))
struct InspectVerdictTests {
  struct Entry: Sendable, CustomTestStringConvertible {
    var id: String
    var file: String
    var isValid: Bool
    var options: [String]
    var testDescription: String { id }
  }

  static let entries: [Entry] = {
    guard TestData.isPresent,
      let data = try? Data(contentsOf: TestData.url("receipts/index.json")),
      let index = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
      let items = index["items"] as? [[String: Any]]
    else { return [] }
    return items.compactMap { item in
      guard let verdict = item["verdict"] as? [String: Any], let id = item["id"] as? String,
        let file = item["file"] as? String
      else { return nil }
      func path(_ name: String) -> String { TestData.url("receipts/\(name)").path }
      var options = (verdict["roots"] as? [String] ?? []).flatMap { ["--root-certificate", path($0)] }
      if let bundle = verdict["bundleId"] as? String { options += ["--bundle-id", bundle] }
      if let environment = verdict["environment"] as? String { options += ["--environment", environment] }
      return Entry(id: id, file: path(file), isValid: verdict["inspect"] as? String == "valid", options: options)
    }
  }()

  @Test func everyVerdictHasItsFile() { #expect(Self.entries.count == 25) }

  @Test(arguments: entries) func inspectGivesTheExpectedVerdict(_ entry: Entry) throws {
    let run = try Command(built: "purchase-ledger").run(["inspect", entry.file, "--json"] + entry.options)
    #expect(run.status == (entry.isValid ? 0 : 1), "\(run)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(run.stdout.utf8)) as? [String: Any])
    #expect(object["valid"] as? Bool == entry.isValid)
    if !entry.isValid { #expect((object["reason"] as? String)?.isEmpty == false, "\(run)") }
    let text = try Command(built: "purchase-ledger").run(["inspect", entry.file] + entry.options)
    #expect(text.status == run.status && text.stdout.hasPrefix(entry.isValid ? "valid\n" : "refused: "), "\(text)")
  }
}
