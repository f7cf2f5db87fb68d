import CLibFuzzer
import Foundation
import PurchaseLedger

/// libFuzzer on the verifier: `LedgerFuzz jws|receipt|notification CORPUS [libFuzzer's options]`.
///
/// Seeds are written into the corpus first. Nothing here reaches a network: a verifier only computes.
@main
struct LedgerFuzz {
  nonisolated(unsafe) private static var subject: Subject?

  static func main() throws {
    var arguments = CommandLine.arguments
    guard arguments.count > 2, let subject = try Subject(named: arguments[1]) else {
      FileHandle.standardError.write(Data("usage: LedgerFuzz jws|receipt|notification CORPUS [options]\n".utf8))
      exit(64)
    }
    let corpus = URL(fileURLWithPath: arguments[2])
    try FileManager.default.createDirectory(at: corpus, withIntermediateDirectories: true)
    for (number, seed) in try subject.seeds().enumerated() {
      try Data(seed).write(to: corpus.appendingPathComponent("seed-\(number)"))
    }
    Self.subject = subject
    arguments.remove(at: 1)
    // libFuzzer keeps the arguments until the process ends.
    var count = CInt(arguments.count)
    let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: arguments.count + 1)
    for (index, argument) in arguments.enumerated() { list[index] = strdup(argument) }
    list[arguments.count] = nil
    var pointer: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = list
    exit(
      LLVMFuzzerRunDriver(&count, &pointer) { data, size in
        LedgerFuzz.try(Array(UnsafeBufferPointer(start: data, count: size)))
        return 0
      })
  }

  /// libFuzzer calls synchronously and wants the work done on return; verifying may suspend, so it runs on the pool as
  /// it does in the command.
  private static func `try`(_ bytes: [UInt8]) {
    guard let subject else { return }
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      await subject.take(bytes)
      done.signal()
    }
    done.wait()
  }
}
