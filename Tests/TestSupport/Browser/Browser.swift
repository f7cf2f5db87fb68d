import Foundation

/// A browser of Chromium's family without a window, driven by its DevTools protocol through a pipe.
///
/// It has its own profile folder, can reach this machine's addresses only, and ends when the object is released.
public final class Browser {
  /// This machine's browser, or nil; tests that need it are skipped with ``skipMessage``.
  public static let installed = ["chromium", "chromium-browser", "google-chrome"].lazy.compactMap {
    Command(installed: $0)
  }
  .first
  public static var isInstalled: Bool { installed != nil }
  public static let skipMessage = "chromium is not installed (apt-get install chromium)"

  /// A command that the browser refused or did not answer.
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// An event: a message without request.
  struct Event {
    let session: String?
    let method: String
    let parameters: [String: Any]
  }

  /// Receives all events.
  var handler: (Event) -> Void = { _ in }
  private let process: ChildProcess
  private let pipe: MessagePipe
  private let profile: TemporaryFolder
  private var lastID = 0
  private var answers: [Int: [String: Any]] = [:]

  public init() throws {
    guard let command = Self.installed else { throw Failure(description: Self.skipMessage) }
    profile = try TemporaryFolder()
    pipe = try MessagePipe()
    var flags = [
      "--headless=new", "--remote-debugging-pipe", "--user-data-dir=\(profile.path)", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync",
      "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en",
      // Without a graphics card WebGL is drawn in software.
      "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
      "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    ]
    // Chromium refuses to make its sandbox for root, the user of containers.
    if geteuid() == 0 { flags.append("--no-sandbox") }
    process = try command.start(flags + ["about:blank"], environment: ["HOME": profile.path], descriptors: pipe.theirs)
    pipe.closeTheirs()
  }

  deinit {
    // The process would end with the pipe, but after its folder is removed.
    _ = try? call("Browser.close")
    _ = process.wait(timeout: 5)
  }

  /// Calls a method of the protocol and waits for its result.
  ///
  /// - Throws: ``Failure`` with the browser's message.
  @discardableResult
  func call(_ method: String, _ parameters: [String: Any] = [:], session: String? = nil) throws -> [String: Any] {
    let id = try post(method, parameters, session: session)
    let deadline = ContinuousClock.now + .seconds(30)
    while answers[id] == nil {
      guard ContinuousClock.now < deadline else { throw Failure(description: "\(method): no answer within 30 s") }
      try pump(0.5)
    }
    let answer = answers.removeValue(forKey: id)!
    if let error = answer["error"] as? [String: Any] { throw Failure(description: "\(method): \(error)") }
    return answer["result"] as? [String: Any] ?? [:]
  }

  /// Calls a method without waiting; its result is dropped.
  @discardableResult
  func post(_ method: String, _ parameters: [String: Any] = [:], session: String? = nil) throws -> Int {
    lastID += 1
    var message: [String: Any] = ["id": lastID, "method": method, "params": parameters]
    if let session { message["sessionId"] = session }
    do {
      try pipe.send(JSONSerialization.data(withJSONObject: message))
    } catch is POSIXError {
      throw gone()
    }
    return lastID
  }

  /// Reads the messages that are there, waiting for at most some seconds.
  func pump(_ seconds: Double) throws {
    let messages: [Data]
    do {
      messages = try pipe.receive(timeout: seconds)
    } catch is POSIXError {
      throw gone()
    }
    for data in messages {
      guard let message = try JSONSerialization.jsonObject(with: data) as? [String: Any] else { continue }
      if let id = message["id"] as? Int {
        answers[id] = message
      } else if let method = message["method"] as? String {
        handler(
          Event(
            session: message["sessionId"] as? String, method: method,
            parameters: message["params"] as? [String: Any] ?? [:]))
      }
    }
  }

  private func gone() -> Failure { Failure(description: "the browser has ended:\n\(process.stderr.suffix(2000))") }
}
