/// Why an attempt to receive a file ended before its end.
enum TransferFault: Error {
  /// The file is another one by now.
  case changed
  /// The server names the same bytes otherwise than before: a mirror, or a server that was set up anew.
  case otherTag
  /// The server has too much to do for this account, and says after how many seconds to come back. No failure: somebody else's download goes on meanwhile.
  case busy(String, retryAfter: Double)
  /// The address is not taken any more: a new one is to be asked for.
  case linkOver(status: Int)
  /// The answer is not to the question: a wrong range, or an encoding that was not asked for.
  case wrongAnswer(String)
  /// To be tried again; after so many seconds, if the server said that.
  case interrupted(String, retryAfter: Double?)
  /// No use to try again.
  case refused(status: Int)
}
