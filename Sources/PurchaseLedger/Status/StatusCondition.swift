import Support

/// Something that needs a person. docs/reference/ledger.md, Status, lists the codes with their thresholds.
package struct StatusCondition: Sendable, Hashable {
  /// Stable words, for alert rules.
  package enum Code: String, Sendable, CaseIterable {
    /// Google refunds purchases soon, because nobody acknowledged them.
    case acknowledgementDue = "acknowledgement-due"
    /// The store no longer covers a time that no pull has read.
    case windowLost = "window-lost"
    /// This machine's clock differs from the store's, or a pull is dated in the future.
    case clock
    /// The ledger has a store's purchases, and that store was never pulled.
    case neverPulled = "never-pulled"
    case pullLate = "pull-late"
    /// Questions to a store that failed so often that they are not asked again.
    case queueGivenUp = "queue-given-up"
    /// Questions that no pull has asked for three days.
    case queueLate = "queue-late"
    case quarantine
    case reconcileLate = "reconcile-late"
    case reconcileDiffers = "reconcile-differs"
    case backupLate = "backup-late"
    /// The file is a restored backup, and not every store was pulled anew.
    case restored
    case diskLow = "disk-low"
  }

  package var code: Code
  package var store: Store?
  package var environment: StoreEnvironment?
  /// What is wrong and what to do, starting in lower case.
  package var message: String

  var json: JSONValue {
    .object([
      .init("code", .string(code.rawValue)), .init("store", .init(store?.rawValue)),
      .init("environment", .init(environment?.rawValue)), .init("message", .string(message)),
    ])
  }
}

/// The thresholds of ``StatusCondition``, in milliseconds where they are times.
package struct StatusLimits: Sendable {
  /// Of the last pull, comparison and backup.
  package var ageMax: Int64
  /// What is left of the three days for an acknowledgement. A nightly job has acknowledged after one.
  static let acknowledgementLeft: Int64 = 86_400_000
  static let clockMax: Int64 = 60_000
  static let lookupAgeMax: Int64 = 3 * 86_400_000
  /// Beside the size of the ledger once more, for a backup or a large commit.
  static let freeBytesMin = 64 << 20

  package init(ageMax: Int64 = Reconciler.ageMaxDefault) { self.ageMax = ageMax }
}

extension LedgerStatus {
  /// Finds what needs a person.
  func judged(by limits: StatusLimits) -> [StatusCondition] {
    var found: [StatusCondition] = []
    func add(_ code: StatusCondition.Code, _ message: String, _ feed: Feed? = nil) {
      found.append(
        .init(
          code: code, store: feed?.store, environment: feed?.environment,
          message: (feed.map { "\($0.name): " } ?? "") + message))
    }
    let age = TimeText.age
    func isLate(_ time: Int64?) -> Bool { now - (time ?? firstEventAt ?? now) > limits.ageMax }
    if let deadline = acknowledgeBy, deadline - now < StatusLimits.acknowledgementLeft {
      add(
        .acknowledgementDue,
        "Google refunds \(unacknowledged) purchases from \(TimeText.minute(deadline)) on; run pull --store google "
          + "--acknowledge")
    }
    for feed in feeds {
      let pull = "run pull --store \(feed.store.rawValue)"
      if let lost = feed.lostSince {
        add(.windowLost, "the store's list has a gap after \(TimeText.minute(lost)); \(pull) --all", feed)
      }
      if let clock = feed.clockMilliseconds, abs(clock) > StatusLimits.clockMax {
        add(.clock, "this machine's clock differs from the store's by \(clock / 1000) s; correct it", feed)
      } else if let latest = [feed.pulledAt, feed.windowEnd].compactMap(\.self).max(),
        latest > now + Snapshot.clockTolerance
      {
        add(
          .clock,
          "the last pull is dated \(TimeText.minute(latest)), in the future; correct the clock, then \(pull)",
          feed)
      }
      guard feed.environment == environment else { continue }
      if let readTo = feed.readTo {
        if isLate(readTo) { add(.pullLate, "read up to \(age(now - readTo)) ago; \(pull)", feed) }
      } else if isLate(nil) {
        add(.neverPulled, "never pulled; \(pull)", feed)
      }
      if let made = restoredFrom, feed.coveredAt ?? 0 <= made {
        add(
          .restored,
          "this file is a backup of \(TimeText.minute(made)); run merge with the spool, then \(pull) --all", feed)
      }
    }
    if failuresGivenUp > 0 {
      add(.queueGivenUp, "\(failuresGivenUp) questions failed and are not asked again; see purchase-ledger queue")
    }
    if let oldest = lookupSince, now - oldest > StatusLimits.lookupAgeMax {
      add(.queueLate, "\(lookups) questions wait, the oldest for \(age(now - oldest)); run pull")
    }
    if quarantined > 0 {
      add(.quarantine, "\(quarantined) pieces of evidence wait; see reconcile, then import --quarantined or dismiss")
    }
    if feeds.contains(where: { $0.pulledAt != nil }), isLate(reconciled?.at) {
      add(.reconcileLate, "\(reconciled.map { "compared \(age(now - $0.at)) ago" } ?? "never compared"); run reconcile")
    }
    if let reconciled, !reconciled.isClean {
      add(.reconcileDiffers, "the last comparison did not end in agreement; run reconcile")
    }
    if isLate(backedUp?.at) {
      add(.backupLate, "\(backedUp.map { "copied \(age(now - $0.at)) ago" } ?? "never copied"); run backup")
    }
    if let freeBytes, freeBytes < fileBytes + logBytes + StatusLimits.freeBytesMin {
      add(.diskLow, "\(freeBytes >> 20) MB are free, less than the ledger's size once more; free space")
    }
    return found
  }
}
