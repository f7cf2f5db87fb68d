import MapStoreWire
import PurchaseLedger

extension LibraryQuestion {
  /// - Parameter installed: editions by region id; those of the shelf make a difference, and are kept with the answer.
  init(_ entitlements: [Entitlement], installed: [String: String], in view: ShelfView) {
    self.init(standing: [:], installed: installed.filter { view.index(of: $0.key) != nil })
    for entitlement in entitlements {
      guard let index = entitlement.productID.flatMap(view.index(ofProduct:)),
        let found = Standing(entitlement.status)
      else { continue }
      standing[index] = max(standing[index] ?? found, found)
    }
  }
}

extension LibraryQuestion.Standing {
  /// Nil for what gives no region and took none: consumables, the other environment.
  init?(_ status: Entitlement.Status) {
    switch status {
    case .active: self = .owned
    case .pending: self = .pending
    case .revoked: self = .revoked
    case .held, .withheld: return nil
    }
  }
}
