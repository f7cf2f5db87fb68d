// Stands in for SwiftUI where that is missing: the declarations that examples/apple uses, for AppleExampleTests.

public import CoreGraphics
// SwiftUI exports Foundation, with the types of Core Graphics that are numbers.
@_exported public import Foundation

@MainActor public protocol View {
  associatedtype Body: View
  @ViewBuilder var body: Body { get }
}
extension Never: View { public var body: Never { fatalError() } }
@resultBuilder public enum ViewBuilder { public static func buildBlock<V: View>(_ view: V) -> V { view } }
@propertyWrapper public struct State<Value> {
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  public var wrappedValue: Value {
    get { fatalError() }
    nonmutating set {}
  }
}
@propertyWrapper public struct Binding<Value> {
  public init(get: @escaping () -> Value, set: @escaping (Value) -> Void) {}
  public var wrappedValue: Value {
    get { fatalError() }
    nonmutating set {}
  }
}
public struct Image { public init(decorative image: CGImage, scale: Double) {} }
public struct GraphicsContext { public func draw(_ image: Image, in rect: CGRect) {} }
public struct Canvas: View {
  public init(renderer: @escaping (inout GraphicsContext, CGSize) -> Void) {}
  public var body: Never { fatalError() }
}
public struct Modified: View { public var body: Never { fatalError() } }
@MainActor public protocol Gesture {
  associatedtype Value
}
public struct DragGesture: Gesture {
  public struct Value: Equatable { public var translation: CGSize { fatalError() } }
  public nonisolated init(minimumDistance: CGFloat = 10) {}
}
public struct MagnifyGesture: Gesture {
  public struct Value: Equatable {
    public var magnification: CGFloat { fatalError() }
    public var startLocation: CGPoint { fatalError() }
  }
  public nonisolated init() {}
}
public struct SimultaneousGesture<First: Gesture, Second: Gesture>: Gesture {
  public struct Value {
    public var first: First.Value?
    public var second: Second.Value?
  }
}
extension SimultaneousGesture.Value: Equatable where First.Value: Equatable, Second.Value: Equatable {}
public struct Followed<Value>: Gesture {}
extension Gesture {
  public func simultaneously<Other: Gesture>(with other: Other) -> SimultaneousGesture<Self, Other> { fatalError() }
  public func onEnded(_ action: @escaping (Value) -> Void) -> Followed<Value> { Followed() }
}
extension Gesture where Value: Equatable {
  public func onChanged(_ action: @escaping (Value) -> Void) -> Followed<Value> { Followed() }
}
extension View {
  public func gesture<T: Gesture>(_ gesture: T) -> some View { Modified() }
  public func onChange<V: Equatable>(of value: V, initial: Bool = false, _ action: @escaping () -> Void) -> some View {
    Modified()
  }
  public func task(@_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void) -> some View {
    Modified()
  }
}
