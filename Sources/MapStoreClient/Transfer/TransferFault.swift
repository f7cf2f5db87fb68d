/// Why an attempt to receive a file ended before its end.
enum TransferFault: Error {
  /// The file is another one by now.
  case changed
  /// The address is not taken any more: a new one is to be asked for.
  case linkOver(status: Int)
  /// The answer is not to the question: a wrong range, or an encoding that was not asked for.
  case wrongAnswer(String)
  /// To be tried again; after so many seconds, if the server said that.
  case interrupted(String, retryAfter: Double?)
  /// No use to try again.
  case refused(status: Int)
}
