/// Who owns a grant: a walk through our own events in their recorded order (docs/ledger.md, Owners).
struct OwnerFold {
  /// The account that the grant's token belongs to, erased or not.
  let tokenAccount: AccountRow?
  /// Of all transactions of the grant, in any order.
  let claims: [ClaimRow]
  /// The accounts that the claims name.
  let claimants: [AccountRow]
  /// A token that is no account's makes every claim void (policy `unknown-token` = `refuse`).
  let refusesClaims: Bool

  private enum Step {
    case opened
    case claim(ClaimRow)
    case erased(Int64)
  }

  /// The owner's number, nil while nobody owns it.
  var owner: Int64? {
    if claims.isEmpty { return tokenAccount.flatMap { $0.erasedSeq == nil ? $0.number : nil } }
    if tokenAccount == nil && refusesClaims { return nil }
    var steps: [(seq: Int64, step: Step)] = claims.map { ($0.seq, .claim($0)) }
    if let tokenAccount { steps.append((tokenAccount.openedSeq, .opened)) }
    var seen: Set<Int64> = []
    for account in claimants + (tokenAccount.map { [$0] } ?? []) where seen.insert(account.number).inserted {
      if let erased = account.erasedSeq { steps.append((erased, .erased(account.number))) }
    }
    steps.sort { $0.seq < $1.seq }

    var owner: Int64?
    var isTokenLive = false
    for (_, step) in steps {
      switch step {
      case .opened:
        owner = tokenAccount?.number
        isTokenLive = true
      case .erased(let number):
        if number == tokenAccount?.number { isTokenLive = false }
        if owner == number { owner = nil }
      case .claim(let claim):
        if isTokenLive && claim.account != tokenAccount?.number { continue }
        if owner == nil || claim.mode == 1 { owner = claim.account }
      }
    }
    return owner
  }
}
