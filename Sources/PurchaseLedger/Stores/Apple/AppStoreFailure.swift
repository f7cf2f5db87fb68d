import Support

/// The App Store Server API's failures: `{"errorCode": ..., "errorMessage": ...}`.
enum AppStoreFailure {
  /// Codes that Apple documents as retryable: account, app or transaction not found for now, rate limit, internal error for now.
  private static let retryableCodes: Set<Int64> = [4_040_002, 4_040_004, 4_040_006, 4_290_000, 5_000_001]

  /// Codes decide where Apple gives one it names; unknown ones follow their status. 401 may be a key that has just been made, or a clock.
  static func isRetryable(status: Int, body: JSONValue?) -> Bool {
    if let code = body?["errorCode"]?.integer {
      if retryableCodes.contains(code) { return true }
      // GeneralInternalError; its retryable twin ends in 1.
      if code == 5_000_000 { return false }
    }
    return [401, 408, 429].contains(status) || status >= 500
  }
}
