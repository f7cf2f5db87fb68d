/// The `status` of an answer of `verifyReceipt`.
enum VerifyReceiptStatus {
  case valid
  /// The store will say the same again.
  case permanent(String)
  /// The store did not judge the receipt; absence of an answer revokes nothing.
  case retryable(String)

  /// - Parameter isRetryable: `is-retryable` of the answer, which Apple gives with 21100 to 21199.
  init(_ status: Int64, isRetryable: Bool?) {
    self =
      switch status {
      case 0: .valid
      case 21000: .permanent("the question was not an HTTP POST of JSON")
      case 21001: .permanent("the App Store no longer knows this question")
      case 21002: .permanent("the receipt was malformed or missing")
      case 21003: .permanent("the receipt could not be authenticated")
      case 21004: .retryable("the shared secret was wrong; correct it and ask again")
      case 21005: .retryable("the receipt server was not available; ask again")
      case 21006: .permanent("the receipt is valid, but its subscription had expired")
      case 21007: .retryable("a sandbox receipt was shown to production; ask the sandbox")
      case 21008: .retryable("a production receipt was shown to the sandbox; ask production")
      case 21009: .retryable("the App Store failed; ask again")
      case 21010: .permanent("the customer's account was not found or is deleted")
      case 21100...21199:
        isRetryable == false
          ? .permanent("the App Store failed for good") : .retryable("the App Store failed; ask again")
      default: .retryable("a status that is not known here; ask again")
      }
  }
}
