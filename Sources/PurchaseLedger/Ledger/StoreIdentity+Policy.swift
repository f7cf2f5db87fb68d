extension StoreIdentity {
  /// The same shop, with a policy's limits on the size of evidence and on how far ahead its clock may be.
  package func bounded(by policy: LedgerPolicy) -> Self {
    var identity = self
    identity.futureSkewMilliseconds = Int64(policy.futureSkewSeconds) * 1000
    identity.evidenceBytesMax = policy.evidenceBytesMax
    return identity
  }
}
