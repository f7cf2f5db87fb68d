import MapStoreWire
import PurchaseLedger

extension PurchaseResult {
  /// What the app is told of a booking, after its commit.
  ///
  /// - Parameter region: the region of a product, if there is one.
  init(_ booking: Booking, region: (String) -> String?) {
    let items = booking.transactions.enumerated().map { index, fact in
      PurchaseItem(
        fact, result: booking.results.count > index ? booking.results[index] : nil, of: booking, region: region)
    }
    let outcome: Outcome =
      switch booking.outcome {
      case .refused: .refused
      // It may be accepted when it is presented again.
      case .quarantined: .pending
      case .accepted, .duplicate:
        if !items.isEmpty, items.allSatisfy({ $0.entitlement == .pending }) {
          .pending
        } else {
          booking.outcome == .accepted ? .booked : .alreadyOwned
        }
      }
    self.init(
      outcome: outcome,
      // Another account's is left to that one's app: finishing it is what tells the store that the buyer has it.
      shouldFinish: outcome == .booked || outcome == .alreadyOwned,
      reason: booking.reason?.code.rawValue, detail: booking.reason?.reason,
      environment: booking.environment?.rawValue.lowercased(), items: items)
  }
}

extension PurchaseItem {
  fileprivate init(
    _ fact: StoreTransaction, result: Booking.Result?, of booking: Booking, region: (String) -> String?
  ) {
    let entitlement = booking.entitlements.first {
      $0.grant.id == fact.originalTransactionID || $0.grant.id == fact.transactionID
    }
    let state: Entitlement
    if result?.outcome == .refused {
      state = .notYours
    } else {
      state =
        switch entitlement?.status {
        case .active?: .active
        case .pending?: .pending
        case .revoked?: .revoked
        case .held?: .held
        case .withheld?: .withheld
        // Refused or quarantined as a whole.
        case nil: booking.outcome == .quarantined ? .pending : .notYours
        }
    }
    let product = fact.productID ?? entitlement?.productID ?? ""
    self.init(
      transactionId: fact.transactionID, productId: product, regionId: region(product), entitlement: state,
      reason: result?.reason?.code.rawValue ?? entitlement.flatMap { $0.reason.isEmpty ? nil : $0.reason })
  }
}
