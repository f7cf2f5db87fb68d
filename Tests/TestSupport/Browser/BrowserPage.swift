public import Foundation

/// One page in a browser: opens URLs, moves the mouse, evaluates scripts in the page.
///
/// ```swift
/// let page = try BrowserPage()
/// try page.open("http://127.0.0.1:8080/")
/// #expect(page.complaints.isEmpty)
/// ```
public final class BrowserPage {
  /// The window's inner size in CSS pixels.
  public let size: (width: Int, height: Int)
  private let browser: Browser
  private let record = PageRecord()
  private var session: String?

  /// - Parameters:
  ///   - isDark: the value of `prefers-color-scheme`.
  ///   - density: device pixels per CSS pixel.
  public init(width: Int = 1280, height: Int = 800, isDark: Bool = false, density: Double = 1) throws {
    size = (width, height)
    browser = try Browser()
    browser.handler = { [weak self] in self?.take($0) }
    let targets = try browser.call("Target.getTargets")["targetInfos"] as? [[String: Any]] ?? []
    guard let target = targets.first(where: { $0["type"] as? String == "page" })?["targetId"] as? String else {
      throw Browser.Failure(description: "the browser has no page")
    }
    session = try browser.call("Target.attachToTarget", ["targetId": target, "flatten": true])["sessionId"] as? String
    try listen(session)
    try call("Page.enable")
    try call("Audits.enable")
    try call(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": density, "mobile": false])
    try call(
      "Emulation.setEmulatedMedia",
      ["features": [["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]]])
  }

  /// The errors and warnings so far, as text.
  public var complaints: [String] { record.complaints }
  /// The URLs of all requests so far.
  public var requests: [String] { record.requests }

  /// The bytes of all answers so far as they were transferred.
  public var transferredBytes: Int { record.transferredBytes }

  /// Runs a script in each document that is opened from now on, before the document's own.
  public func runFirst(_ script: String) throws {
    try call("Page.addScriptToEvaluateOnNewDocument", ["source": script])
  }

  /// Opens a URL and waits until the network is quiet.
  public func open(_ url: String, ready: String = "true") throws {
    let answer = try call("Page.navigate", ["url": url])
    if let error = answer["errorText"] as? String { throw Browser.Failure(description: "\(url): \(error)") }
    try settle("document.readyState === 'complete' && (\(ready))")
  }

  /// Waits until the network has been quiet for a moment and a condition of the page holds.
  ///
  /// - Throws: `Browser.Failure` when that takes longer than some seconds.
  public func settle(_ condition: String = "true", timeout: Double = 30) throws {
    let deadline = ContinuousClock.now + .seconds(timeout)
    let start = ContinuousClock.now
    while true {
      try browser.pump(0.05)
      let isQuiet = record.isQuiet && ContinuousClock.now - max(record.lastActivity, start) > .milliseconds(300)
      if isQuiet, try evaluate(condition, as: Bool.self), record.isQuiet { return }
      guard ContinuousClock.now < deadline else {
        throw Browser.Failure(
          description: "not settled after \(timeout) s; under way: \(record.waiting), complaints: \(complaints), "
            + "condition: \(condition)")
      }
    }
  }

  /// The value of a JavaScript expression, passed as JSON.
  public func evaluate<Value: Decodable>(_ expression: String, as type: Value.Type) throws -> Value {
    let answer = try call(
      "Runtime.evaluate", ["expression": "JSON.stringify([\(expression)])", "returnByValue": true])
    if let details = answer["exceptionDetails"] as? [String: Any] {
      throw Browser.Failure(
        description: "\(expression): \((details["exception"] as? [String: Any])?["description"] ?? details)")
    }
    let text = (answer["result"] as? [String: Any])?["value"] as? String ?? ""
    guard let value = try JSONDecoder().decode([Value].self, from: Data(text.utf8)).first else {
      throw Browser.Failure(description: "\(expression): no value")
    }
    return value
  }

  /// Runs a JavaScript statement.
  public func evaluateVoid(_ statement: String) throws {
    _ = try evaluate("(() => { \(statement); return true; })()", as: Bool.self)
  }

  /// Drags with the left button, in small steps as a hand does.
  public func drag(from start: SIMD2<Double>, by way: SIMD2<Double>, steps: Int = 12) throws {
    try move(to: start)
    try mouseEvent("mousePressed", at: start, ["button": "left", "buttons": 1, "clickCount": 1])
    for step in 1...steps {
      try mouseEvent(
        "mouseMoved", at: start + way * (Double(step) / Double(steps)), ["button": "left", "buttons": 1])
      try browser.pump(0.01)
    }
    try mouseEvent("mouseReleased", at: start + way, ["button": "left", "clickCount": 1])
  }

  /// Turns the wheel at a place. Negative pixels zoom in, positive ones scroll down.
  public func wheel(at place: SIMD2<Double>, pixels: Double) throws {
    try move(to: place)
    try mouseEvent("mouseWheel", at: place, ["deltaX": 0, "deltaY": pixels])
  }

  /// Clicks with the left button.
  public func click(at place: SIMD2<Double>) throws {
    try move(to: place)
    try mouseEvent("mousePressed", at: place, ["button": "left", "buttons": 1, "clickCount": 1])
    try mouseEvent("mouseReleased", at: place, ["button": "left", "clickCount": 1])
  }

  /// Clicks the middle of the first element that a selector finds.
  public func click(_ selector: String) throws {
    let place = try evaluate(
      "(() => { const r = document.querySelector(\(quoted(selector))).getBoundingClientRect(); "
        + "return [r.x + r.width / 2, r.y + r.height / 2]; })()", as: [Double].self)
    try click(at: SIMD2(place[0], place[1]))
  }

  /// Types into the element that has the focus.
  public func type(_ text: String) throws { try call("Input.insertText", ["text": text]) }

  /// A screenshot of the window as PNG.
  public func screenshot() throws -> Data {
    let answer = try call("Page.captureScreenshot", ["format": "png"])
    guard let data = (answer["data"] as? String).flatMap({ Data(base64Encoded: $0) }) else {
      throw Browser.Failure(description: "the browser gave no picture")
    }
    return data
  }

  private func move(to place: SIMD2<Double>) throws { try mouseEvent("mouseMoved", at: place, [:]) }

  private func mouseEvent(_ type: String, at place: SIMD2<Double>, _ more: [String: Any]) throws {
    try call(
      "Input.dispatchMouseEvent",
      ["type": type, "x": place.x, "y": place.y].merging(more) { $1 })
  }

  private func quoted(_ text: String) -> String { String(decoding: try! JSONEncoder().encode(text), as: UTF8.self) }

  @discardableResult
  private func call(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
    try browser.call(method, parameters, session: session)
  }

  /// Subscribes to the events of a page or of one of its workers.
  private func listen(_ session: String?) throws {
    for method in ["Network.enable", "Runtime.enable", "Log.enable"] { try browser.post(method, session: session) }
    // Workers make requests, too; they wait until we have subscribed.
    try browser.post(
      "Target.setAutoAttach", ["autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true], session: session)
  }

  private func take(_ event: Browser.Event) {
    record.note(event)
    guard event.method == "Target.attachedToTarget", let worker = event.parameters["sessionId"] as? String,
      event.parameters["waitingForDebugger"] as? Bool == true
    else { return }
    // The worker may have ended already.
    try? listen(worker)
    _ = try? browser.post("Runtime.runIfWaitingForDebugger", session: worker)
  }
}
