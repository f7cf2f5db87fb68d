import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Files of other versions are refused, and not written.
@Suite(.ownThread) struct LedgerVersionTests {
  /// A copy of a ledger's file and log, as a crash leaves them.
  private func copy(of path: String, in folder: TemporaryFolder) throws -> String {
    let copy = folder.file("copy.sqlite")
    for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix) }
    return copy
  }

  /// The version is only in the log.
  @Test(arguments: [(99, "newer version"), (2, "version 2"), (0, "version 0")])
  func anotherVersionIsRefused(_ version: Int, _ words: String) throws {
    let test = try TestLedger()
    let folder = try TemporaryFolder()
    try test.ledger.write { try $0.db.execute("PRAGMA user_version = \(version)") }
    let copy = try copy(of: test.path, in: folder)
    #expect(try Data(contentsOf: URL(fileURLWithPath: copy))[63] == 3)
    for open in [
      { try Ledger.openToRead(at: copy, clock: .system) }, { try Ledger.open(at: copy, policy: nil, clock: .system) },
    ] {
      let error = #expect(throws: LedgerError.self) { try open() }
      #expect(error?.code == .notALedger && error?.message.contains(words) == true)
    }
  }
}
