import Foundation
import Logging
import MapStoreWire
import PurchaseLedger
import Support
import TestSupport
import Testing

@testable import MapStoreServer

/// What every request may meet is logged once a minute.
@Suite(.ownThread) struct FaultLogTests {
  private let lines = Locked<[String]>([])
  private let log: FaultLog
  init() {
    let lines = lines
    log = FaultLog(Logger(label: "test") { _ in ListLogHandler(lines: lines) })
  }

  private func fault(_ text: String) -> StoreError {
    StoreError(.unavailable, at: "links.sqlite", text, remedy: "make room on the disk, or restart")
  }

  private func meet(_ text: String, _ kind: String = "store", at seconds: Double) {
    log.error(kind, "\(fault(text))", of: fault(text), at: seconds)
  }

  @Test func oneLineAMinuteOfEachKindWithTheNumberLeftOut() {
    for request in 0..<100 { meet("the disk is full", at: Double(request) / 10) }
    meet("it is gone", at: 10)
    meet("the disk is full", "given out", at: 11)
    log.tell(at: 59)
    #expect(lines.withLock { $0.count } == 3)
    log.tell(at: 60)
    log.tell(at: 75)
    #expect(lines.withLock { $0.count } == 4)
    #expect(lines.withLock { $0.last?.contains("99 times within the last minute") } == true)
    // The minute begins again with what was told.
    meet("the disk is full", at: 80)
    log.tell(at: 100)
    #expect(lines.withLock { $0.count } == 4)
    log.tell(at: 120)
    #expect(lines.withLock { $0.last?.contains("1 times") } == true)
    // After a quiet minute it is news.
    log.tell(at: 180)
    meet("the disk is full", at: 181)
    #expect(lines.withLock { $0.count } == 6)
  }

  /// Messages that somebody chooses have no memory without end.
  @Test func kindsAreLimited() {
    for number in 0..<1_000 { meet("fault \(number)", at: 0) }
    #expect(lines.withLock { $0.count } == 65)
    log.close()
    #expect(lines.withLock { $0.count == 66 && $0.last?.contains("935 times") == true })
  }
}
